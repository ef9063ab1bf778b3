/** Copilot's models: those that the account may use in chats. */
import { exchangeJson, failures, type ProviderFetch } from "#plugins/backends";
import { chatHeaders } from "./headers.ts";
import type { Session } from "./tokens.ts";

interface Row {
  id?: unknown;
  capabilities?: { type?: unknown; limits?: { max_prompt_tokens?: unknown; max_context_window_tokens?: unknown } };
  supported_endpoints?: unknown;
  policy?: { state?: unknown };
}

/** Names in order, with their windows in tokens. Throws BackendError, or the signal's reason. */
export async function fetchModels(
  { token, url: base }: Session,
  fetch: ProviderFetch,
  signal: AbortSignal,
): Promise<Map<string, number | undefined>> {
  const fail = failures("copilot", token);
  const url = `${base}/models`;
  const open = (stop: AbortSignal) => fetch(url, { headers: chatHeaders(token), signal: stop });
  const answer = await exchangeJson({ open, url, signal, fail });
  const { data } = (answer ?? {}) as { data?: unknown };
  if (!Array.isArray(data)) throw fail.noReply(JSON.stringify(answer));
  const rows = (data as (Row | null)[]).flatMap((row): [string, number | undefined][] =>
    row && typeof row.id === "string" && isChat(row) ? [[row.id, windowOf(row)]] : [],
  );
  return new Map(rows.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Some models speak another protocol only, and some are switched off for the account. */
function isChat({ capabilities, supported_endpoints: endpoints, policy }: Row): boolean {
  if (capabilities?.type !== undefined && capabilities.type !== "chat") return false;
  if (Array.isArray(endpoints) && !endpoints.includes("/chat/completions")) return false;
  return policy?.state !== "disabled";
}

/** The prompt has a limit of its own, below that of the model. */
function windowOf({ capabilities }: Row): number | undefined {
  const { max_prompt_tokens: prompt, max_context_window_tokens: window } = capabilities?.limits ?? {};
  return [prompt, window].map(Number).find((tokens) => Number.isInteger(tokens) && tokens > 0);
}
