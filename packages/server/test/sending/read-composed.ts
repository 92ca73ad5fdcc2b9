import type { Composed } from '../../src/features/sending/compose/compose.ts'
import {
  type ContentForm,
  type ContentLayout,
  copyForm,
  type StoredContent,
  wireForm,
  type WireForm,
} from '../../src/features/sending/compose/stored-content.ts'

/* Reads what was composed, as sending does. */

export async function collect(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of content) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Content in memory, which is read in small pieces, so that every edge falls everywhere. */
export function storedOf(layout: ContentLayout, content: Buffer, pieceBytes = 7919): StoredContent {
  return {
    layout,
    byteLength: content.length,
    async *open() {
      for (let at = 0; at < content.length; at += pieceBytes) yield content.subarray(at, at + pieceBytes)
    },
  }
}

export async function store(composed: Pick<Composed, 'layout' | 'open'>, pieceBytes?: number) {
  return storedOf(composed.layout, await collect(composed.open()), pieceBytes)
}

export const HANDED_OVER = new Date('2026-11-21T09:08:07Z')

export interface Servers {
  has8BitMime?: boolean
  hasSmtpUtf8?: boolean
}

/** The message as a server gets it. */
export async function readWire(
  stored: StoredContent,
  servers: Servers = {},
): Promise<WireForm & { raw: Buffer }> {
  const form = await wireForm(stored, {
    date: HANDED_OVER,
    has8BitMime: servers.has8BitMime ?? false,
    hasSmtpUtf8: servers.hasSmtpUtf8 ?? false,
    hasBcc: false,
  })
  return { ...form, raw: await readForm(form) }
}

/** The message as it is filed. */
export function readCopy(stored: StoredContent): Promise<Buffer> {
  return readForm(copyForm(stored, HANDED_OVER))
}

async function readForm(form: ContentForm): Promise<Buffer> {
  const raw = await collect(form.open())
  if (raw.length !== form.byteLength)
    throw new Error(`${raw.length} bytes, not ${form.byteLength} as announced`)
  return raw
}
