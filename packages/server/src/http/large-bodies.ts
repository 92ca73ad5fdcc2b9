import { MemoryRoom } from '../kit/memory-room.ts'

/** Bytes of large bodies that are read or handled at the same time. Handling one takes about four times its size. */
const BYTES_MAX = 108 * 1024 * 1024
const TENANT_BYTES_MAX = 72 * 1024 * 1024
/** Much less than a client has for its whole request. */
const WAIT_SECONDS_MAX = 20

/** Room for the large bodies of this process. */
export function openLargeBodies(): MemoryRoom {
  return new MemoryRoom({
    bytesMax: BYTES_MAX,
    tenantBytesMax: TENANT_BYTES_MAX,
    waitSeconds: WAIT_SECONDS_MAX,
  })
}
