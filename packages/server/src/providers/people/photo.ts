import { PHOTO_BYTES_MAX, type RemotePhoto } from '../contacts.ts'
import { ProviderFailure } from '../failure.ts'
import { readRefusal } from '../http/answers.ts'
import { photoOf } from '../http/photo-answer.ts'
import { retryAfterSeconds } from '../http/retry-after.ts'
import type { PeopleApi } from './people-api.ts'
import { contactOf, readPerson, UnreadablePerson } from './person.ts'
import { sizedPhotoPath } from './photo-url.ts'

/** One byte more shows that there is more. */
const ANSWER_BYTES_MAX = PHOTO_BYTES_MAX + 64 * 1024
const GONE = new Set([403, 404, 410])

/** The photo of a contact; null if it has none. Throws `not_found` if the contact is gone. */
export async function readPhotoOf(
  api: PeopleApi,
  key: string,
  signal: AbortSignal,
): Promise<RemotePhoto | null> {
  const state = photoStateOf(await api.get(key, { signal }))
  if (state.type !== 'some') return null
  const answer = await api.openPhoto(sizedPhotoPath(state.version), ANSWER_BYTES_MAX, signal)
  if (answer.status !== 200) {
    const { status, headers } = await readRefusal(answer)
    if (GONE.has(status)) return null
    const seconds = retryAfterSeconds(headers, api.now())
    throw new ProviderFailure(
      status === 429 ? 'throttled' : 'unavailable',
      `Google answered ${status} for a photo.`,
      {
        ...(seconds !== null && { retryAfterSeconds: seconds }),
      },
    )
  }
  return photoOf(answer, state.version)
}

/** A person who cannot be read has no photo that can. */
function photoStateOf(answered: unknown) {
  try {
    return contactOf(readPerson(answered))?.photo ?? { type: 'none' as const }
  } catch (error) {
    if (error instanceof UnreadablePerson) return { type: 'none' as const }
    throw error
  }
}
