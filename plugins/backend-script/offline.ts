/** The built-in scenario: no model, said plainly, but real tools in the real folder. docs/script-backend.md shows it. */
import type { Scenario } from "./scenario.ts";

const intro =
  "This is the offline script of ollie, not a model: it answers every prompt with the same few lines. The tools are real, though";

const forModel =
  "For a model, put OLLIE_OPENAI_KEY (or OLLIE_OPENAI_URL for a server of your own) into the environment or into ~/.config/ollie/env and open a new session.";

const report = `This is the offline script of ollie, not a model. What the tool \`{{tool}}\` really said:

\`\`\`
{{result}}
\`\`\`
The script also knows \`run: COMMAND\`, \`read: FILE\` and \`write: FILE TEXT\`.

${forModel} The file \`backends\` says which backend is used and why.
`;

const call = (name: string, args: Record<string, string>) => ({ call: { name, args } });

export const offline: Scenario = {
  model: "offline",
  chunk: 24,
  every: 3,
  replies: [
    {
      when: { prompt: "^\\s*run:\\s*(.+)", offers: "shell" },
      repeat: "always",
      steps: [call("shell", { command: "{{match.1}}" })],
    },
    {
      when: { prompt: "^\\s*read:\\s*(\\S[^\\n]*)", offers: "file_read" },
      repeat: "always",
      steps: [call("file_read", { file_path: "{{match.1}}" })],
    },
    {
      when: { prompt: "^\\s*write:\\s*(\\S+)\\s+(.+)", offers: "file_write" },
      repeat: "always",
      steps: [call("file_write", { file_path: "{{match.1}}", content: "{{match.2}}\n" })],
    },
    {
      when: { prompt: "^\\s*(run|read|write):", result: "" },
      repeat: "always",
      steps: [{ text: "{{result}}\n" }],
    },
    { when: { result: "" }, repeat: "always", steps: [{ text: report }] },
    {
      when: { offers: "shell" },
      repeat: "always",
      steps: [{ text: `${intro}: here is this folder.\n` }, call("shell", { command: "ls -p | head -n 20" })],
    },
    {
      when: { offers: "file_glob" },
      repeat: "always",
      steps: [{ text: `${intro}: here is this folder.\n` }, call("file_glob", { pattern: "*" })],
    },
    {
      repeat: "always",
      steps: [
        {
          text: `${intro}, but none is loaded here.\n\n${forModel}\n`,
        },
      ],
    },
  ],
};
