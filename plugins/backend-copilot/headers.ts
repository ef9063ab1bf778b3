/** What Copilot wants to know of who asks. */
import type { Message } from "#plugins/backends";

/** For GitHub's own side. */
export const editor = {
  "user-agent": "ollie/0.1.0",
  "editor-version": "ollie/0.1.0",
  "editor-plugin-version": "ollie/0.1.0",
};

/** For chats and lists. The integration is a name that the service knows; others are refused. */
export const chatHeaders = (token: string) => ({
  ...editor,
  authorization: `Bearer ${token}`,
  "copilot-integration-id": "vscode-chat",
  "openai-intent": "conversation-edits",
});

/** What an agent does by itself is billed otherwise than what a person asked for. */
export const initiator = (messages: readonly Message[]) => ({
  "x-initiator": messages.at(-1)?.role === "user" ? "user" : "agent",
});
