/** What olliesrv runs with where the user has no ollie.config.ts of their own. Swapping a part is swapping its line. */
import { defineConfig } from "ollie";
import agent from "ollie/plugins/agent";
import agentConfig from "ollie/plugins/agent-config";
import backendAnthropic from "ollie/plugins/backend-anthropic";
import backendCopilot from "ollie/plugins/backend-copilot";
import backendGemini from "ollie/plugins/backend-gemini";
import backendKiro from "ollie/plugins/backend-kiro";
import backendOllama from "ollie/plugins/backend-ollama";
import backendOpenai from "ollie/plugins/backend-openai";
import backendScript from "ollie/plugins/backend-script";
import backends from "ollie/plugins/backends";
import control from "ollie/plugins/control";
import events from "ollie/plugins/events";
import identity from "ollie/plugins/identity";
import logPino from "ollie/plugins/log-pino";
import oneshot from "ollie/plugins/oneshot";
import proc from "ollie/plugins/proc";
import prompts from "ollie/plugins/prompts";
import scheduler from "ollie/plugins/scheduler";
import sessions from "ollie/plugins/sessions";
import tools from "ollie/plugins/tools";
import toolsrv from "ollie/plugins/toolsrv";

export default defineConfig({
  plugins: [
    logPino(),
    events(),
    control(),
    identity(),
    sessions(),
    agentConfig(),
    prompts(),
    backends(),
    backendScript(),
    backendAnthropic(),
    backendOpenai(),
    backendGemini(),
    backendOllama(),
    backendCopilot(),
    backendKiro(),
    oneshot(),
    tools(),
    scheduler(),
    toolsrv(),
    agent(),
    proc(),
  ],
});
