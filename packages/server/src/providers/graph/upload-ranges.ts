import { z } from 'zod'
import type { ProviderAnswer, ProviderCall } from '../http/provider-calls.ts'
import { readAnswer } from '../http/answers.ts'
import type { UploadRange } from './api.ts'

const UPLOAD_SECONDS = 300

/** The call that sends a range, without its address. */
export function callOfRange({ from, total, bytes }: UploadRange): Omit<ProviderCall, 'host' | 'path'> {
  return {
    method: 'PUT',
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(bytes.byteLength),
      'content-range': `bytes ${from}-${from + bytes.byteLength - 1}/${total}`,
    },
    body: bytes,
    isRepeatable: false,
    wholeSeconds: UPLOAD_SECONDS,
  }
}

const sessionSchema = z.object({ nextExpectedRanges: z.array(z.string()).default([]) })
/**
 * Exchange names only where the next range begins, other services the range
 * (learn.microsoft.com/graph/api/resources/uploadsession).
 */
const RANGE_START = /^(\d{1,12})(?:-|$)/

/** The first byte that the session of an answer wants; null if it names none. */
export function nextRangeOf({ status, content }: ProviderAnswer): number | null {
  if (status === 201) return null
  const { nextExpectedRanges } = readAnswer('Microsoft Graph', sessionSchema, content)
  const next = RANGE_START.exec(nextExpectedRanges[0] ?? '')?.[1]
  return next === undefined ? null : Number(next)
}
