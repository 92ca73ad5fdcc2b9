import type { people_v1 as v1 } from '@googleapis/people'
import type { DrivenSandbox } from '../servers/sandbox.ts'

export type Person = v1.Schema$Person

/** Another client of the contacts of a user of the sandbox. */
export interface OtherClient {
  /** All contacts as they are now. */
  list(): Promise<Person[]>
  add(...contacts: Person[]): Promise<Person[]>
  change(name: string, fields: Person): Promise<Person>
  remove(name: string): Promise<void>
  /** Puts contacts together under another name. */
  merge(...names: string[]): Promise<Person>
  setPhoto(name: string, photo: Uint8Array): Promise<void>
  /** Makes the sync tokens of the user too old. */
  expire(): Promise<void>
}

export function otherClient(sandbox: DrivenSandbox, email: string): OtherClient {
  const at = (name: string) => `/people/${email}/${name.slice('people/'.length)}`
  const items = async (answer: Promise<{ items: Person[] }>) => (await answer).items
  return {
    list: () => items(sandbox.control('GET', `/people/${email}`)),
    add: (...contacts) => items(sandbox.control('POST', `/people/${email}`, { contacts })),
    change: (name, fields) => sandbox.control('PATCH', at(name), fields),
    remove: name => sandbox.control('DELETE', at(name)),
    merge: (...resourceNames) => sandbox.control('POST', `/people/${email}/merge`, { resourceNames }),
    setPhoto: (name, photo) => sandbox.control('PUT', `${at(name)}/photo`, photo),
    expire: () => sandbox.control('POST', '/people/expire', { user: email }),
  }
}

/** Changes how the People API of the sandbox behaves. */
export function configurePeople(
  sandbox: Pick<DrivenSandbox, 'control'>,
  settings: Record<string, unknown>,
): Promise<unknown> {
  return sandbox.control('PATCH', '/people', settings)
}
