import { openSemaphore } from '../../src/kit/semaphore.ts'
import { Secret } from '../../src/kit/secret.ts'
import type { Offering } from '../../src/providers/connected-account.ts'
import type { ContactsArrangement } from '../../src/providers/conformance/contacts.ts'
import type { ProviderCalls } from '../../src/providers/http/provider-calls.ts'
import { peopleAccount } from '../../src/providers/people/people.ts'
import { boundless, callsTo } from '../gmail/reach-sandbox.ts'
import type { SandboxServer } from '../servers/sandbox.ts'
import { type OtherClient, otherClient } from './other-client.ts'

export const CONTACTS_SCOPE = 'https://www.googleapis.com/auth/contacts'
const CHANGES_MAX = 64

let users = 0

export interface PeopleArrangement extends ContactsArrangement {
  email: string
  client: OtherClient
  calls: ProviderCalls
  /** Connects by a clock that is turned by this much. */
  connect(aheadMilliseconds?: number): Promise<Offering<'contacts'>>
}

/** A user of the sandbox without contacts, and the way to them. */
export async function arrangePeople(sandbox: SandboxServer): Promise<PeopleArrangement> {
  const email = `people-${++users}@gmail.test`
  await sandbox.addUser(email)
  const client = otherClient(sandbox, email)
  const calls = callsTo(sandbox)
  const grant = async () => new Secret((await sandbox.grant(email, [CONTACTS_SCOPE])).accessToken)
  let token = await grant()
  const line = openSemaphore({ atOnce: 1, waitingMax: CHANGES_MAX })
  return {
    email,
    client,
    calls,
    world: {
      async add(contacts) {
        const added = await client.add(
          ...contacts.map(({ givenName, familyName, email: value }) => ({
            names: [{ givenName, familyName }],
            emailAddresses: [{ value, type: 'home' }],
          })),
        )
        const names = added.map(({ resourceName }) => resourceName!)
        for (const [at, { photo }] of contacts.entries()) if (photo) await client.setPhoto(names[at]!, photo)
        return names
      },
      rename: async (key, name) => void (await client.change(key, { names: [name] })),
      remove: client.remove,
      addFolder: () => Promise.reject(new Error('Google has no folders of contacts')),
    },
    connect: async (aheadMilliseconds = 0) =>
      peopleAccount({
        calls,
        tokens: { get: async () => token, renew: async () => (token = await grant()) },
        quota: boundless.userOf('people', email),
        line,
        now: () => Date.now() + aheadMilliseconds,
      }),
    spoil: cursor => ({ ...cursor, syncToken: 'of-another-user' }),
    unknownKey: 'people/c1',
    contactsOfSteps: 201,
    [Symbol.asyncDispose]: () => calls[Symbol.asyncDispose](),
  }
}
