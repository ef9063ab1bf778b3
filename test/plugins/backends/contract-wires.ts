/** The fakes of Ollama, Gemini, Kiro and Copilot in the terms of the contract. */
import { setTimeout as sleep } from "node:timers/promises";
import * as gemini from "../../fakes/gemini.ts";
import * as kiro from "../../fakes/kiro.ts";
import * as ollama from "../../fakes/ollama.ts";
import { type Answer, bytes, json, type Request } from "../../fakes/server.ts";
import type { Act } from "../../fakes/wire.ts";
import type { ContractFake, Say } from "./contract.ts";

/** A fake whose answers can be given as they are. */
interface Scripted {
  readonly url: string;
  readonly chats: Request[];
  readonly complaints: string[];
  /** What is answered next, whatever is asked. */
  script: Answer[];
  /** What the list of models answers. */
  list?: Answer | ((rows: Rows) => Answer);
  close(): Promise<void>;
}

type Rows = [name: string, context?: unknown][];

interface Words {
  /** The reply without its end. */
  body(say: Say): Buffer[];
  end(say: Say): Buffer[];
  malformed: Buffer;
  overloaded: Buffer;
  /** A sign of life that says nothing. */
  idle: Buffer;
  /** The body of an error. */
  error(message: string): object;
  rows(rows: Rows): Answer;
}

const stall: Answer = { acts: [{ do: "stall" }] };
const page = (text: string, status = 200, headers: Record<string, string> = {}): Answer => ({
  head: { status, headers: { "content-type": "text/html", ...headers } },
  acts: [bytes(text)],
});

function spoken<F extends Scripted>(fake: F, words: Words): F & ContractFake {
  const tails: Record<NonNullable<Say["fault"]>, () => Act[]> = {
    eof: () => [],
    reset: () => [{ do: "wait", ms: 20 }, { do: "reset" }],
    stall: () => [{ do: "stall" }],
    malformed: () => [{ do: "bytes", bytes: words.malformed }],
    error: () => [{ do: "bytes", bytes: words.overloaded }],
    endless: () =>
      Array.from({ length: 400 }, (): Act[] => [
        { do: "bytes", bytes: words.idle },
        { do: "wait", ms: 5 },
      ]).flat(),
  };
  return Object.assign(fake, {
    get requests() {
      return fake.chats;
    },
    say(say: Say) {
      const lines = say.crlf
        ? (text: Buffer) => Buffer.from(text.toString().replaceAll(/\r?\n/g, "\r\n"))
        : (text: Buffer) => text;
      const said = [...words.body(say), ...(say.fault ? [] : words.end(say))].map((piece) => bytes(lines(piece)));
      const tail = say.fault ? tails[say.fault]() : [];
      fake.script.push({ head: { headers: {} }, acts: [...said, ...tail], ...(say.oneByte ? { size: 1 } : {}) });
    },
    fail(status: number, body: { message: string } | { page: string }, headers: Record<string, string> = {}) {
      fake.script.push(
        "page" in body ? page(body.page, status, headers) : json(words.error(body.message), status, headers),
      );
    },
    page: (text: string) => void fake.script.push(page(text)),
    models(answer: Parameters<ContractFake["models"]>[0]) {
      if (answer === "stall") fake.list = stall;
      else if ("page" in answer) fake.list = page(answer.page);
      else if ("status" in answer) fake.list = json(words.error("no"), answer.status);
      else fake.list = words.rows(answer);
    },
    async seen(n: number) {
      for (;;) {
        const request = fake.chats[n - 1];
        if (request) return request;
        await sleep(2);
      }
    },
  }) as unknown as F & ContractFake;
}

const ndjson = (value: object) => Buffer.from(`${JSON.stringify(value)}\n`);

export async function ollamaContract() {
  return spoken(await ollama.ollamaFake(), {
    body: (say) => [
      ...(say.reasoning ? ollama.think(say.reasoning).map(ndjson) : []),
      ...(say.text ? ollama.say(say.text).map(ndjson) : []),
      ...(say.calls?.length
        ? [ndjson(ollama.calls(...say.calls.map(({ args, ...call }) => ({ ...call, arguments: args }))))]
        : []),
    ],
    end: ({ stop }) => [ndjson(ollama.last({ done_reason: stop === "length" ? "length" : "stop" }))],
    malformed: Buffer.from('{"message":{"con\n'),
    overloaded: ndjson({ error: "overloaded" }),
    idle: ndjson({ message: { role: "assistant", content: "" }, done: false }),
    error: (message) => ({ error: message }),
    // The list has no windows: they are told of each model.
    rows: (rows) =>
      json({
        models: rows.map(([name]) => ({ name })),
        model_info: { "x.context_length": rows[0]?.[1] },
      }),
  });
}

export async function geminiContract() {
  const event = (chunk: object) => Buffer.from(gemini.event(chunk as gemini.Chunk));
  const reasons = { stop: "STOP", calls: "STOP", length: "MAX_TOKENS" };
  return spoken(await gemini.geminiFake({ key: "any" }), {
    body: (say) => [
      ...(say.reasoning ? [event(gemini.parts({ text: say.reasoning, thought: true }))] : []),
      ...(say.text ? [event(gemini.parts(...Array.from(say.text).map((text) => ({ text }))))] : []),
      ...(say.calls ?? []).map(({ name, args }) =>
        event(gemini.parts({ functionCall: { name, args: args === "" ? undefined : args }, thoughtSignature: "S=" })),
      ),
    ],
    end: ({ stop, usage }) => [
      event(gemini.finish(reasons[stop ?? "stop"])),
      event(
        gemini.usage(
          usage
            ? {
                promptTokenCount: usage.fresh + usage.cached,
                cachedContentTokenCount: usage.cached,
                candidatesTokenCount: usage.output,
              }
            : { promptTokenCount: 1, candidatesTokenCount: 1 },
        ),
      ),
    ],
    malformed: Buffer.from('data: {"candi\n\n'),
    overloaded: event({ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }),
    idle: Buffer.from(": x\n\n"),
    error: (message) => ({ error: { message } }),
    rows: (rows) =>
      json({ models: rows.map(([name, inputTokenLimit]) => ({ name: `models/${name}`, inputTokenLimit })) }),
  });
}

export async function kiroContract() {
  return spoken(await kiro.kiroFake(), {
    body: (say) =>
      [
        ...(say.reasoning ? [kiro.frame("reasoningContentEvent", { text: say.reasoning })] : []),
        ...Array.from(say.text ?? "", (text) => kiro.say(text)),
        ...(say.calls ?? []).flatMap(({ name, args }, at) => {
          const toolUseId = `tu-${at}`;
          const input = typeof args === "string" ? args : JSON.stringify(args);
          const last = say.fault ? [] : [kiro.frame("toolUseEvent", { toolUseId, name, stop: true })];
          return [kiro.frame("toolUseEvent", { toolUseId, name, input }), ...last];
        }),
      ].map((frame) => Buffer.from(frame)),
    end: (say) => (say.text || say.calls ? [] : [Buffer.from(kiro.frame("meteringEvent", { usage: 1 }))]),
    malformed: Buffer.from([0, 0, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 9, 9, 9, 9]),
    overloaded: Buffer.from(kiro.frame("ServiceUnavailableException", { message: "overloaded" }, "exception")),
    idle: Buffer.from(kiro.frame("meteringEvent", { usage: 1 })),
    error: (message) => ({ message }),
    rows: (rows) =>
      json({ models: rows.map(([modelId, maxInputTokens]) => ({ modelId, tokenLimits: { maxInputTokens } })) }),
  });
}
