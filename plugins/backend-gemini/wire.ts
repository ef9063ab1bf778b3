/** The shapes of generateContent, as far as they are used. Of what a server sends nothing can be relied on. */

export interface Part {
  text?: string;
  /** The text is a summary of thinking. */
  thought?: boolean;
  /** Belongs to this very part and is sent back with it. */
  thoughtSignature?: string;
  functionCall?: { id?: string; name: string; args: Record<string, unknown> };
  functionResponse?: { id?: string; name: string; response: Record<string, unknown> };
}

export interface Content {
  role: "user" | "model";
  parts: Part[];
}

export interface Chunk {
  error?: unknown;
  candidates?: {
    index?: number;
    content?: { parts?: (Partial<Part> | null)[] };
    finishReason?: string;
    finishMessage?: string;
  }[];
  promptFeedback?: { blockReason?: string; blockReasonMessage?: string };
  usageMetadata?: Record<string, unknown>;
}

/** What a call of ours carries in `extra` so that its part can be made again. */
export interface CallMarks {
  id?: string;
  thoughtSignature?: string;
}

/** What a reasoning block carries in `data`: the characters of the reply's text that its signature belongs to. */
export interface SignedText {
  from: number;
  to: number;
}

export const provider = "gemini";
