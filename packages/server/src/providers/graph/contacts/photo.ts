import type { RemotePhoto } from '../../contacts.ts'
import { ProviderFailure } from '../../failure.ts'
import { photoOf } from '../../http/photo-answer.ts'
import type { ContactsConnection } from './contacts-connection.ts'
import { pathOfContact, requireContact } from './reading.ts'

/** `ContactsProvider.readPhoto`. A new photo is a new version of the contact, so that version stands for the photo. */
export async function readPhoto(
  connection: ContactsConnection,
  key: string,
  signal: AbortSignal,
): Promise<RemotePhoto | null> {
  const { contact } = await requireContact(connection, key, { signal })
  try {
    const answer = await connection.api.stream(`${pathOfContact(key)}/photo/$value`, { signal })
    return photoOf(answer, contact.version)
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'not_found') return null
    throw error
  }
}
