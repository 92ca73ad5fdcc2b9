import type { ReachedAccount } from '../../../accounts/reach.ts'
import type { Connections } from '../../../connections/connections.ts'
import { PHOTO_BYTES_MAX } from '../../../providers/contacts.ts'
import { ProviderFailure } from '../../../providers/failure.ts'

export interface FetchedPhoto {
  version: string
  content: Buffer
}

/** Reads the photo of a contact from the provider; null if it has none. Throws `ProviderFailure`. */
export function fetchPhoto(
  connections: Connections,
  reached: ReachedAccount,
  key: string,
  signal: AbortSignal,
): Promise<FetchedPhoto | 'too_large' | null> {
  return connections.use(
    reached,
    'contacts',
    async provider => {
      const photo = await provider.readPhoto(key, signal)
      if (!photo) return null
      const pieces: Uint8Array[] = []
      let bytes = 0
      try {
        for await (const piece of photo.open()) {
          bytes += piece.length
          if (bytes > PHOTO_BYTES_MAX) return 'too_large'
          pieces.push(piece)
        }
      } catch (error) {
        // The adapter ends a photo that is too large.
        if (error instanceof ProviderFailure && error.kind === 'rejected') return 'too_large'
        throw error
      }
      return { version: photo.version, content: Buffer.concat(pieces) }
    },
    { isRepeatable: true, signal },
  )
}
