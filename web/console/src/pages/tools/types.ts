import type { Schema } from "../../ui/SchemaForm";

/** What GET /v1/servers, /v1/servers/NAME and /v1/groups return. */
export interface Latency { count: number; mean_ms: number; median_ms: number; p95_ms: number }

export interface Server {
  name: string; kind: string; state: "starting" | "ready" | "down"; problem?: string; protocol?: string; restarts: number; round_trip_ms: number;
  groups: string[]; tool_count: number; quarantined: number; calls: number; failed: number; latency: Latency;
}

export interface Rule { group: string; read_only: boolean; asks: boolean }

export interface Tool {
  name: string; title?: string; description: string; schema?: Schema; annotations: { read_only?: boolean; idempotent?: boolean; destructive?: boolean; open_world?: boolean };
  rules: Rule[]; quarantined?: boolean; not_offered?: string; calls: Record<string, number>;
}

export interface Change { id: string; tool: string; difference: string }

export interface Details extends Server {
  tools: Tool[]; changes: Change[]; errors: { at: string; tool: string; outcome: string; text: string }[];
}

export interface Group {
  name: string; description: string; approve: string;
  servers: { name: string; healthy: boolean; problem?: string; tools: { name: string; description: string; read_only: boolean; asks: boolean }[] }[];
}

/** The sum of all outcomes. */
export const total = (calls: Record<string, number>) => Object.values(calls).reduce((sum, n) => sum + n, 0);
