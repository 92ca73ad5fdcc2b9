import { MemoryRoom } from '../../../kit/memory-room.ts'
import { refuse } from '../../../calls/refuse.ts'

/** Memory for compressing, sealing and storing one content, however large it is. */
const CONTENT_BYTES = 8 * 1024 * 1024
/** Contents that are written at the same time, of all tenants and of one. */
const CONTENTS_MAX = 4
const TENANT_CONTENTS_MAX = 3
const WAIT_SECONDS_MAX = 60
const RETRY_SECONDS = 5

/** Room for writing large contents. */
export type LargeContents = MemoryRoom

export function openLargeContents(): LargeContents {
  return new MemoryRoom({
    bytesMax: CONTENTS_MAX * CONTENT_BYTES,
    tenantBytesMax: TENANT_CONTENTS_MAX * CONTENT_BYTES,
    waitSeconds: WAIT_SECONDS_MAX,
  })
}

/** Waits for room for one content. Refuses with `overloaded` if there is none in time. */
export async function enterLargeContents(room: LargeContents, tenantId: string): Promise<Disposable> {
  const entered = await room.enter(tenantId, CONTENT_BYTES)
  return entered ?? refuse('overloaded', undefined, { retryAfterSeconds: RETRY_SECONDS })
}
