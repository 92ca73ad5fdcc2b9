import type { ContactChange, NewContact, RemoteContact } from '../../contacts.ts'
import { ProviderFailure } from '../../failure.ts'
import { quoted } from '../changing/find.ts'
import { changing } from '../changing/effect.ts'
import { ignoredSchema } from '../resources.ts'
import { CONTACT_FIELDS } from './contact.ts'
import { etagOf, itemSchema, itemsSchema } from '../items.ts'
import type { ContactsConnection } from './contacts-connection.ts'
import { listContactFolders, pathOfFolder } from './folders.ts'
import { differing, requireHeld, toPatch } from './patch.ts'
import { pathOfContact, requireContact, requireReadable } from './reading.ts'

/** A change is applied again three times. */
const TRIES_MAX = 4
const ANSWER_BYTES_MAX = 8 * 1024 * 1024
/** Names the creation of a contact, by which an earlier try is found. The set is that of public strings (MS-OXPROPS). */
const CREATION_PROPERTY = 'String {00020329-0000-0000-C000-000000000046} Name WaxwingCreation'

/** `ContactsProvider.create`. */
export function createContact(
  connection: ContactsConnection,
  { folderKey, fields, creationId, mayExist }: NewContact,
): Promise<RemoteContact> {
  const { api } = connection
  return changing(api, async effect => {
    requireHeld(fields)
    const earlier = mayExist ? await findCreated(connection, folderKey, creationId) : null
    if (earlier) return earlier
    const { value } = await effect.ask({
      method: 'POST',
      path: folderKey === null ? 'contacts' : `${pathOfFolder(folderKey)}/contacts`,
      json: {
        ...toPatch(fields, null),
        singleValueExtendedProperties: [{ id: CREATION_PROPERTY, value: creationId }],
      },
      schema: itemSchema,
      accepts: [201],
      answerBytesMax: ANSWER_BYTES_MAX,
    })
    return requireReadable(value).contact
  })
}

/** The contact that an earlier try of a creation made, in whichever folder it is by now. */
async function findCreated(
  connection: ContactsConnection,
  folderKey: string | null,
  creationId: string,
): Promise<RemoteContact | null> {
  const folders = await listContactFolders(connection, {})
  const keys = new Set([...(folderKey === null ? [] : [folderKey]), ...folders.map(({ key }) => key)])
  for (const key of keys) {
    const isMark = `ep/id eq ${quoted(CREATION_PROPERTY)} and ep/value eq ${quoted(creationId)}`
    const { value } = await connection.api.ask({
      path: `${pathOfFolder(key)}/contacts`,
      query: {
        $filter: `singleValueExtendedProperties/Any(ep: ${isMark})`,
        $select: CONTACT_FIELDS,
        $top: 1,
      },
      schema: itemsSchema,
      accepts: [200],
      answerBytesMax: ANSWER_BYTES_MAX,
    })
    if (value.value[0]) return requireReadable(value.value[0]).contact
  }
  return null
}

/** `ContactsProvider.change`. */
export function changeContact(
  connection: ContactsConnection,
  key: string,
  change: ContactChange,
): Promise<RemoteContact> {
  const { api } = connection
  return changing(api, async effect => {
    requireHeld(change)
    for (let tries = 1; ; tries += 1) {
      const { given, contact } = await requireContact(connection, key, {})
      const wanted = differing(change, contact.fields)
      if (Object.keys(wanted).length === 0) return contact
      try {
        const { value } = await effect.ask({
          method: 'PATCH',
          path: pathOfContact(key),
          json: toPatch(wanted, given),
          ifMatch: etagOf(contact.version),
          schema: itemSchema,
          accepts: [200],
          answerBytesMax: ANSWER_BYTES_MAX,
        })
        return requireReadable(value).contact
      } catch (error) {
        const isOvertaken = error instanceof ProviderFailure && error.kind === 'conflict'
        if (!isOvertaken || tries === TRIES_MAX) throw error
      }
    }
  })
}

/** `ContactsProvider.remove`. */
export function removeContact(connection: ContactsConnection, key: string): Promise<void> {
  const { api } = connection
  return changing(api, async effect => {
    await requireContact(connection, key, {})
    await effect.ask({ method: 'DELETE', path: pathOfContact(key), schema: ignoredSchema, accepts: [204] })
  })
}
