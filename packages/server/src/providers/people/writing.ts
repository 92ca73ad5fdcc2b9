import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { ContactChange, NewContact, RemoteContact } from '../contacts.ts'
import { changingBy, type EffectRecord } from '../effect.ts'
import { ProviderFailure } from '../failure.ts'
import { RequestRefused } from '../google/failure.ts'
import type { Semaphore } from '../../kit/semaphore.ts'
import { editPerson, NOBODY } from './edit-person.ts'
import type { PeopleApi } from './people-api.ts'
import {
  contactOf,
  contactSourceOf,
  FOLDER_KEY,
  type Person,
  readNamed,
  readPerson,
  RESOURCE_NAME,
  UnreadablePerson,
} from './person.ts'

/** The API of a user, and the line in which the writes of that user wait for each other, as Google asks for. */
export interface PeopleWriter {
  api: PeopleApi
  line: Semaphore
}

/** A write is tried again three times. */
const TRIES_MAX = 4
/** A write that has waited longer for its turn is refused, since its caller will not wait much longer. */
const WAITING_MS_MAX = 30_000
/** Google may answer the former version of a person for a moment after a change. */
const PAUSE_MILLISECONDS = 200
/** The entry of `clientData` that names the creation by which a contact was made. */
const CREATION_KEY = 'waxwing.creation'

const latest = z.object({
  resourceName: z.string().regex(RESOURCE_NAME),
  clientData: z.array(z.object({ key: z.string().nullish(), value: z.string().nullish() })).default([]),
})

/** Creates a contact with the id of its creation, by which an earlier try is found among what was changed last. */
export function createContact(writer: PeopleWriter, contact: NewContact): Promise<RemoteContact> {
  return inLine(writer, async record => {
    const { api } = writer
    if (contact.folderKey !== null && contact.folderKey !== FOLDER_KEY)
      throw new ProviderFailure('not_found', 'Google keeps contacts in no folders.')
    const { fields } = editPerson(NOBODY, contact.fields)
    if (contact.mayExist) {
      const earlier = await findCreated(api, contact.creationId)
      if (earlier) return earlier
    }
    const clientData = [{ key: CREATION_KEY, value: contact.creationId }]
    return requireContact(
      await againIfOvertaken(() => record.run(() => api.create({ ...fields, clientData }))),
    )
  })
}

/** Changes fields of a contact as it is at Google, and reads it again if another client was faster. */
export function changeContact(
  writer: PeopleWriter,
  key: string,
  change: ContactChange,
): Promise<RemoteContact> {
  return inLine(writer, record =>
    againIfOvertaken(async () => {
      const { api } = writer
      const person = requirePerson(await api.get(key))
      // Google compares the version of the source, and that of the answer if it is sent.
      const source = contactSourceOf(person)
      if (!source) throw noContact()
      const { mask, fields } = editPerson(person, change)
      if (mask.length === 0) return requireContact(person)
      const { resourceName, etag } = person
      const body = { resourceName, ...(etag && { etag }), metadata: { sources: [source] }, ...fields }
      return requireContact(await record.run(() => api.update(resourceName, mask, body)))
    }),
  )
}

/** Deletes a contact, whatever version it has by now. */
export function removeContact(writer: PeopleWriter, key: string): Promise<void> {
  return inLine(writer, record => againIfOvertaken(() => record.run(() => writer.api.delete(key))))
}

async function inLine<T>({ line }: PeopleWriter, work: (record: EffectRecord) => Promise<T>): Promise<T> {
  const askedAt = performance.now()
  const done = line.take(() => {
    if (performance.now() - askedAt > WAITING_MS_MAX) throw tooMany()
    return changingBy(record => record, work)
  })
  if (done) return done
  throw tooMany()
}

function tooMany(): ProviderFailure {
  return new ProviderFailure('throttled', 'Too many changes of these contacts are waiting.', { isBusy: true })
}

async function againIfOvertaken<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (!isOvertaken(error)) throw error
      if (tries === TRIES_MAX)
        throw new ProviderFailure('conflict', 'Other clients kept changing the contact.', { cause: error })
      await sleep(PAUSE_MILLISECONDS * tries)
    }
  }
}

/** Whether another write came in between: the version differs, or two writes met. */
function isOvertaken(error: unknown): boolean {
  if (error instanceof RequestRefused)
    return error.reasons.some(reason => reason === 'failedPrecondition' || reason === 'FAILED_PRECONDITION')
  return error instanceof ProviderFailure && error.kind === 'conflict'
}

async function findCreated(api: PeopleApi, creationId: string): Promise<RemoteContact | null> {
  for (const row of await api.listLatest()) {
    const { data } = latest.safeParse(row)
    const isMade = data?.clientData.some(({ key, value }) => key === CREATION_KEY && value === creationId)
    if (data && isMade) return requireContact(await api.get(data.resourceName))
  }
  return null
}

/** The person of an answer. Unreadable persons are not changed, since their lists are written as a whole. */
function requirePerson(answered: unknown): Person {
  try {
    return readPerson(answered)
  } catch (error) {
    if (!(error instanceof UnreadablePerson)) throw error
    const name = readNamed(answered)?.resourceName ?? 'the person'
    throw new ProviderFailure('rejected', `${name} cannot be changed: ${error.message}.`, { cause: error })
  }
}

function requireContact(answered: unknown): RemoteContact {
  const contact = contactOf(requirePerson(answered))
  if (contact) return contact
  throw noContact()
}

function noContact(): ProviderFailure {
  return new ProviderFailure('not_found', 'The person is no contact of the user.')
}
