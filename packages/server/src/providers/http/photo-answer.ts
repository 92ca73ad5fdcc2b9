import { PHOTO_BYTES_MAX, type RemotePhoto } from '../contacts.ts'
import { ProviderFailure } from '../failure.ts'
import type { OpenAnswer } from './exchange.ts'

/** The photo that an answer brings. */
export function photoOf(answer: OpenAnswer, version: string): RemotePhoto {
  const type = answer.headers['content-type']
  return {
    contentType: typeof type === 'string' ? type : null,
    version,
    async *open() {
      await using opened = answer
      let size = 0
      for await (const chunk of opened.content) {
        size += chunk.length
        requirePhotoSize(size)
        yield chunk
      }
    },
  }
}

/** Throws `rejected` for a photo that is too large. */
export function requirePhotoSize(bytes: number): void {
  if (bytes > PHOTO_BYTES_MAX)
    throw new ProviderFailure('rejected', `The photo is larger than ${PHOTO_BYTES_MAX} bytes.`)
}
