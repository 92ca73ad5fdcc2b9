import type { RemoteContact, UnreadableContact } from '../contacts.ts'
import { ProviderFailure } from '../failure.ts'
import { askTwice } from '../http/ask-twice.ts'
import type { Asking, PeopleApi } from './people-api.ts'
import { contactOf, readNamed, readPerson, RESOURCE_NAME, UnreadablePerson, versionOf } from './person.ts'

/** Outcomes of reading contacts. */
export interface ReadPeople {
  contacts: RemoteContact[]
  unreadable: UnreadableContact[]
  /** Keys that are no contacts of the user any more. */
  absent: string[]
}

/** Requests for single persons that are sent again after a failure, before the others are asked for. */
const REPEATED_MAX = 10
/** Persons that are read at once. 200 are the most. */
export const READ_MAX = 50
const GONE = 404

/** Reads contacts as they are now. A person who cannot be read does not keep others from being read. */
export async function readPeople(
  api: PeopleApi,
  keys: readonly string[],
  asking: Asking = {},
): Promise<ReadPeople> {
  const result: ReadPeople = { contacts: [], unreadable: [], absent: [] }
  const names = [...new Set(keys)].filter(key => RESOURCE_NAME.test(key))
  result.absent.push(...keys.filter(key => !RESOURCE_NAME.test(key)))
  if (names.length === 0) return result
  const outcomes = await askTwice<string, unknown>(names, {
    askAll: some => askAll(api, some, asking),
    repeatedMax: REPEATED_MAX,
    requireAnswer: () => api.get(names[0] ?? '', asking).catch(unlessGone),
  })
  for (const [index, { value, failure }] of outcomes.entries()) {
    const key = names[index] ?? ''
    if (failure) result.unreadable.push({ key, version: null, reason: failure.message })
    else if (value === null) result.absent.push(key)
    else addPerson(result, value, key)
  }
  return result
}

/**
 * Adds a person as it was answered. A merged person may be answered under another name.
 * @param asked the name that was asked for
 */
export function addPerson(
  result: ReadPeople,
  answered: unknown,
  asked: string,
  formerKeys: readonly string[] = [],
): void {
  const named = readNamed(answered)
  const key = named?.resourceName ?? asked
  try {
    const former = [...new Set(key === asked ? formerKeys : [...formerKeys, asked])]
    const contact = contactOf(readPerson(answered), former)
    if (contact) result.contacts.push(contact)
    else result.absent.push(key)
  } catch (error) {
    if (!(error instanceof UnreadablePerson)) throw error
    result.unreadable.push({ key, version: named && versionOf(named), reason: error.message })
  }
}

type Outcomes = Awaited<ReturnType<Parameters<typeof askTwice<string, unknown>>[1]['askAll']>>

/** The answered persons; null for those that are gone. */
async function askAll(api: PeopleApi, names: readonly string[], asking: Asking): Promise<Outcomes> {
  const responses = await api.getAll(names, asking)
  const answered = new Map(responses.map(response => [response.requestedResourceName, response]))
  return names.map((name): Outcomes[number] => {
    const { httpStatusCode, person } = answered.get(name) ?? {}
    if (httpStatusCode === GONE) return { value: null, failure: null }
    if (person !== undefined) return { value: person, failure: null }
    const message = `The People API answered ${httpStatusCode ?? 'nothing'} for one person.`
    return { value: null, failure: new ProviderFailure('unavailable', message) }
  })
}

function unlessGone(error: unknown): void {
  if (!(error instanceof ProviderFailure) || error.kind !== 'not_found') throw error
}
