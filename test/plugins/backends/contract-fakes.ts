/** The fakes of Chat Completions and Messages in the terms of the contract. */
import * as messages from "../../fakes/anthropic.ts";
import * as chat from "../../fakes/openai.ts";
import type { Parts } from "../../fakes/parts.ts";
import type { Fake } from "../../fakes/scripted.ts";
import type { ContractFake, Say } from "./contract.ts";

type Spoken = Fake & ContractFake;

interface Words {
  parts(say: Say): Parts;
  overloaded: string;
  /** A row of the list of models. */
  row(id: string, context: unknown): Record<string, unknown>;
}

function spoken(fake: Fake, { parts, overloaded, row }: Words): Spoken {
  const { raw, eof, stall, reset, oneByte, crlf, wait, status } = chat;
  const faults = {
    eof: () => [eof()],
    reset: () => [wait(20), reset()],
    stall: () => [stall()],
    malformed: () => [raw('data: {"choices":[{"ind\n\n'), eof()],
    error: () => [raw(overloaded), eof()],
    endless: () => [...Array.from({ length: 400 }, () => [raw(`: ${"x".repeat(1000)}\n\n`), wait(5)]).flat(), eof()],
  };
  const listed = fake.models;
  return Object.assign(fake, {
    say(say: Say) {
      const shape = [...(say.oneByte ? [oneByte()] : []), ...(say.crlf ? [crlf()] : [])];
      const body = parts(say);
      if (say.fault) fake.exactly(...shape, ...body, ...faults[say.fault]());
      else fake.reply(...shape, ...body);
    },
    fail(code: number, body: { message: string } | { page: string }, headers?: Record<string, string>) {
      fake.error(code, "page" in body ? body.page : body, headers);
    },
    page(body: string) {
      fake.exactly(status(200, { "content-type": "text/html" }), raw(body), eof());
    },
    models(answer: Parameters<ContractFake["models"]>[0]) {
      if (answer === "stall") listed(stall());
      else if ("page" in answer) listed(raw(answer.page));
      else if ("status" in answer) listed(status(answer.status), raw("no"));
      else listed(raw(JSON.stringify({ data: answer.map(([id, context]) => row(id, context)) })));
    },
  } as unknown as ContractFake);
}

export async function chatContract(): Promise<Spoken> {
  const { text, reasoning, call, finish, usage } = chat;
  const stops = { stop: "stop", calls: "tool_calls", length: "length" };
  return spoken(await chat.openaiFake(), {
    overloaded: 'data: {"error":{"type":"server_error","message":"overloaded"}}\n\n',
    row: (id, context) => ({ id, ...(context === undefined ? {} : { context_length: context }) }),
    parts: (say) => [
      ...(say.reasoning ? [reasoning(say.reasoning)] : []),
      ...(say.text ? [text(say.text)] : []),
      ...(say.calls ?? []).map(({ name, args, ...more }, index) => call(name, args, { index, ...more })),
      ...(say.stop ? [finish(stops[say.stop])] : []),
      ...(say.usage ? [countedChat(say.usage, usage)] : []),
    ],
  });
}

const countedChat = ({ fresh, cached, output }: NonNullable<Say["usage"]>, usage: typeof chat.usage) =>
  usage(fresh + cached, output, { prompt_tokens_details: { cached_tokens: cached } });

export async function messagesContract(): Promise<Spoken> {
  const { text, thinking, call, finish, begin } = messages;
  const stops = { stop: "end_turn", calls: "tool_use", length: "max_tokens" };
  return spoken(await messages.anthropicFake(), {
    overloaded: 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    row: (id, context) => ({ type: "model", id, ...(context === undefined ? {} : { max_input_tokens: context }) }),
    parts: (say) => [
      ...(say.usage
        ? [
            begin({
              input_tokens: say.usage.fresh,
              cache_read_input_tokens: say.usage.cached,
              cache_creation_input_tokens: 0,
              output_tokens: 1,
            }),
          ]
        : []),
      ...(say.reasoning ? [thinking(say.reasoning)] : []),
      ...(say.text ? [text(say.text)] : []),
      ...(say.calls ?? []).map(({ name, args, ...more }) => call(name, args, more)),
      ...(say.stop || say.usage
        ? [finish(say.stop ? stops[say.stop] : "end_turn", { output_tokens: say.usage?.output ?? 10 })]
        : []),
    ],
  });
}
