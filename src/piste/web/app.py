"""The application: the page, and the API under /api. Requests become jobs in a queue."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from piste.errors import FunctionError, PisteError
from piste.models.protocol import Classifier
from piste.render.html import assets, source
from piste.result.explanation import Explanation
from piste.web import page_data
from piste.web.job_queue import Busy, Closing, Job, JobQueue, Late
from piste.web.requests import (
    CompareRequest,
    Curve,
    EditAnswer,
    EditRequest,
    ExplainRequest,
    Failure,
    Models,
    Predictions,
    PredictRequest,
    RemovalAnswer,
    RemovalRequest,
    refusal,
)
from piste.web.security import Guard
from piste.web.service import Service, TooLong
from piste.web.settings import Settings

STATIC = Path(__file__).parent / "static"
KINDS = {"html": "text/html; charset=utf-8", "json": "application/json", "png": "image/png"}
FAILURES: dict[int | str, dict[str, Any]] = {
    code: {"model": Failure} for code in (400, 401, 403, 408, 413, 421, 422, 500, 503, 504)
}


class Gone(PisteError):
    """The client has disconnected."""


STATUS: Mapping[type[PisteError], int] = {
    Busy: 503,
    Closing: 503,
    Late: 504,
    TooLong: 413,
    Gone: 499,  # what servers write down for it; nobody reads it
}


class Server:
    """An application and its job queue."""

    def __init__(self, models: Mapping[str, Classifier], settings: Settings) -> None:
        self.settings = settings
        self.service = Service(models, settings.max_chars, settings.example)
        self.queue = JobQueue(settings.queue, settings.workers)
        self.app = _application(self)
        self.guarded = Guard(self.app, settings)

    def job(self, asked: ExplainRequest, work: Callable[[Job], Any], quick: bool = False) -> Job:
        """Queue some work; quick work on a text that is already explained goes to the front."""
        self.service.check(asked)
        return self.queue.submit(work, urgent=quick and self.service.knows(asked))

    async def finished(self, request: Request, job: Job) -> Any:
        """The result of the job; raises Gone if the client disconnects."""
        async with aclosing(job.listen(self.settings.timeout)) as events:
            async for name, data in events:
                if name == "result":
                    return data
                if name == "beat" and await request.is_disconnected():
                    break
        raise Gone("The request was cancelled.", "")

    def stream(self, job: Job) -> Response:
        """The job as server-sent events; errors are events too, as the status is sent first."""

        async def lines() -> AsyncIterator[str]:
            yield event("progress", {"done": 0, "planned": 0, "before": self.queue.before(job)})
            try:
                async with aclosing(job.listen(self.settings.timeout)) as events:
                    async for name, data in events:
                        yield ": still here\n\n" if name == "beat" else event(name, data)
            except Exception as error:
                yield event("error", failure(error)[1])

        return StreamingResponse(lines(), media_type="text/event-stream")


def event(name: str, data: Any) -> str:
    """One server-sent event; JSON has no line breaks of its own."""
    return f"event: {name}\ndata: {json.dumps(data, allow_nan=False)}\n\n"


def told(explanation: Explanation, pairs: int) -> dict[str, Any]:
    """The explanation as plain data; where words act together, also the strongest pairs."""
    known = explanation.parts is not None and explanation.parts.tells_pairs
    strongest = [asdict(pair) for pair in explanation.pairs(pairs)] if known else None
    return {**explanation.to_dict(), "pairs": strongest}


def failure(error: Exception) -> tuple[int, dict[str, str]]:
    """The HTTP status and the JSON body of an error."""
    # What a function of the operator's own says is not for clients.
    if isinstance(error, PisteError) and not isinstance(error, FunctionError):
        return STATUS.get(type(error), 422), {"error": error.cause, "remedy": error.remedy}
    remedy = "The terminal where the server runs shows the details."
    return 500, {"error": "Something went wrong inside piste.", "remedy": remedy}


def _application(server: Server) -> FastAPI:
    app = FastAPI(
        title="piste",
        description="Why did the model classify this text as it did?",
        docs_url=None,  # the usual page loads its script from a CDN
        redoc_url=None,
    )
    _errors(app)
    _pages(app)
    _explaining(app, server)
    _downloading(app, server)
    _trying(app, server)
    _comparing(app, server)
    return app


def _errors(app: FastAPI) -> None:
    @app.exception_handler(PisteError)
    async def mistake(request: Request, error: PisteError) -> Response:
        status, said = failure(error)
        headers = {"retry-after": "2"} if status == 503 else None
        return JSONResponse(said, status, headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return JSONResponse(failure(refusal(error.errors()[0], error.body))[1], 422)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        said = {"error": f"{error.detail}", "remedy": "See /docs."}
        return JSONResponse(said, error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        status, said = failure(error)
        return JSONResponse(said, status)


def _pages(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(STATIC / "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return FileResponse(STATIC / "docs.html")

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon() -> Response:
        return FileResponse(STATIC / "icon.svg", media_type="image/svg+xml")

    @app.get("/static/report.css", include_in_schema=False)
    async def style() -> Response:
        return Response(assets()[1], media_type="text/css")  # the page looks as the reports do

    @app.get("/static/linking.js", include_in_schema=False)
    async def script() -> Response:
        return Response(source("linking.js"), media_type="text/javascript")

    app.mount("/static", StaticFiles(directory=STATIC))


def _explaining(app: FastAPI, server: Server) -> None:
    service = server.service

    @app.get("/api/models", responses=FAILURES)
    async def models() -> Models:
        """The models of this server, their labels and the methods that apply."""
        return service.about()

    @app.post("/api/explain", responses=FAILURES)
    async def explain(asked: ExplainRequest, request: Request) -> dict[str, Any]:
        """An explanation, as `Explanation.to_dict` gives it, and its strongest `pairs`."""
        job = server.job(asked, lambda job: told(service.explanation(asked, job), asked.pairs))
        return await server.finished(request, job)  # type: ignore[no-any-return]

    @app.post("/api/explain/stream", responses=FAILURES, response_class=StreamingResponse)
    async def explain_stream(asked: ExplainRequest) -> Response:
        """Server-sent events: progress, round, then result (explanation and view) or error."""

        def work(job: Job) -> dict[str, Any]:
            def watch(so_far: Explanation) -> None:
                job.tell("round", page_data.view(so_far))

            explanation = service.explanation(asked, job, watch)
            return {
                "explanation": told(explanation, asked.pairs),
                "view": page_data.full(explanation),
            }

        return server.stream(server.job(asked, work))


def _downloading(app: FastAPI, server: Server) -> None:
    @app.post("/api/download/{kind}", responses=FAILURES)
    async def download(
        kind: Literal["html", "json", "png"], asked: ExplainRequest, request: Request
    ) -> Response:
        """The explanation as a file."""

        def work(job: Job) -> bytes:
            explanation = server.service.explanation(asked, job)
            if kind == "png":
                return page_data.picture(explanation)
            return (explanation.to_html() if kind == "html" else explanation.to_json()).encode()

        body = await server.finished(request, server.job(asked, work, quick=True))
        name = f'attachment; filename="explanation.{kind}"'
        return Response(body, media_type=KINDS[kind], headers={"content-disposition": name})


def _trying(app: FastAPI, server: Server) -> None:
    service = server.service

    @app.post("/api/answer", responses=FAILURES)
    async def answer(asked: RemovalRequest, request: Request) -> RemovalAnswer:
        """The model's true answer to the text without some words, and the predicted one."""
        job = server.job(asked, lambda job: service.answer(asked, job), quick=True)
        return await server.finished(request, job)  # type: ignore[no-any-return]

    @app.post("/api/predict", responses=FAILURES)
    async def predict(asked: PredictRequest, request: Request) -> Predictions:
        """What the explanation predicts for parts of the text; the model is not asked again."""
        job = server.job(asked, lambda job: service.predictions(asked, job), quick=True)
        return await server.finished(request, job)  # type: ignore[no-any-return]

    @app.post("/api/edit", responses=FAILURES)
    async def edit(asked: EditRequest, request: Request) -> EditAnswer:
        """The model's answer to the text with words replaced."""
        job = server.job(asked, lambda job: service.edited(asked, job), quick=True)
        return await server.finished(request, job)  # type: ignore[no-any-return]

    @app.post("/api/deletion", responses=FAILURES)
    async def deletion(asked: ExplainRequest, request: Request) -> Curve:
        """The answer while words are removed: the highest-scored first, and at random."""
        job = server.job(asked, lambda job: service.deletion(asked, job))
        return await server.finished(request, job)  # type: ignore[no-any-return]


def _comparing(app: FastAPI, server: Server) -> None:
    service = server.service

    @app.post("/api/compare", responses=FAILURES)
    async def compare(asked: CompareRequest, request: Request) -> dict[str, Any]:
        """Several explanations of one decision, as `Comparison.to_dict` gives them."""
        job = server.job(asked, lambda job: service.comparison(asked, job).to_dict())
        return await server.finished(request, job)  # type: ignore[no-any-return]

    @app.post("/api/compare/stream", responses=FAILURES, response_class=StreamingResponse)
    async def compare_stream(asked: CompareRequest) -> Response:
        """Server-sent events: progress, then result (comparison, view) or error."""

        def work(job: Job) -> dict[str, Any]:
            comparison = service.comparison(asked, job)
            return {"comparison": comparison.to_dict(), "view": page_data.compared(comparison)}

        return server.stream(server.job(asked, work))
