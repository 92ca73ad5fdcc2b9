import { z } from 'zod'
import { ProviderFailure } from '../failure.ts'
import type { ProviderAnswer } from '../http/provider-calls.ts'

/* Batches of calls in JSON (learn.microsoft.com/graph/json-batching). */

export interface BatchPart {
  method: string
  /** Path and query, with the version of the interface. */
  path: string
  headers: Readonly<Record<string, string>>
  json?: unknown
}

const VERSION = '/v1.0'
/** The part was not carried out, since the one before it failed. */
const FAILED_DEPENDENCY = 424

const schema = z.object({
  responses: z
    .array(
      z.object({
        id: z.string(),
        status: z.int().min(100).max(599),
        headers: z.record(z.string(), z.unknown()).optional(),
        body: z.unknown(),
      }),
    )
    .max(100),
})

/** A batch whose parts are carried out one after the other. */
export function writeBatch(parts: readonly BatchPart[]): string {
  return JSON.stringify({
    requests: parts.map(({ method, path, headers, json }, index) => ({
      id: String(index + 1),
      method,
      url: path.slice(VERSION.length),
      headers: { ...headers, ...(json !== undefined && { 'Content-Type': 'application/json' }) },
      ...(json !== undefined && { body: json }),
      ...(index > 0 && { dependsOn: [String(index)] }),
    })),
  })
}

/**
 * The answers by the index of their request, which come in any order. Left out are parts that were not carried out. A
 * body that is not JSON comes as base64 in a text, and becomes its bytes.
 */
export function readBatch(content: Buffer, count: number): Map<number, ProviderAnswer> {
  const answers = new Map<number, ProviderAnswer>()
  for (const { id, status, headers = {}, body } of parse(content)) {
    const index = /^\d{1,3}$/.test(id) ? Number(id) - 1 : -1
    if (index < 0 || index >= count || answers.has(index) || status === FAILED_DEPENDENCY) continue
    answers.set(index, { status, headers: lowerCased(headers), content: bytesOf(body) })
  }
  return answers
}

function parse(content: Buffer): z.infer<typeof schema>['responses'] {
  try {
    const { data } = schema.safeParse(JSON.parse(content.toString()))
    if (data) return data.responses
  } catch {
    // The failure for content that is not JSON is thrown below.
  }
  throw new ProviderFailure('unavailable', 'Microsoft Graph answered a batch with something else.')
}

function lowerCased(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name.toLowerCase(), value]] : [],
    ),
  )
}

function bytesOf(body: unknown): Buffer {
  if (body === undefined || body === null) return Buffer.alloc(0)
  return typeof body === 'string' ? Buffer.from(body, 'base64') : Buffer.from(JSON.stringify(body))
}
