// In a notebook the frame grows with the page.
{
  const frame = window.frameElement;
  if (frame?.hasAttribute("data-piste-fit")) {
    const fit = () => { frame.height = Math.ceil(document.body.getBoundingClientRect().height) + 2; };
    new ResizeObserver(fit).observe(document.body);
  }
}
