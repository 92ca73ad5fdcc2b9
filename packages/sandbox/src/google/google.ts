import { type Calendars, openCalendars } from '../calendar/calendar.ts'
import { type Gmail, openGmail } from '../gmail/gmail.ts'
import type { HostApp } from '../hosting/host-app.ts'
import { openPeople, type People } from '../people/people.ts'
import { PHOTO_HOST } from '../people/person.ts'
import type { Ground } from '../world/ground.ts'
import { InvalidInput } from '../world/invalid-input.ts'
import type { PlayedProvider, Provider } from '../world/provider.ts'
import type { WorldSeed } from '../world/seed.ts'
import type { Users } from '../world/users.ts'
import type { World } from '../world/world.ts'
import { type Accounts, openAccounts } from './accounts.ts'
import { accountsHost } from './accounts-host.ts'
import { googleControls } from './controls/controls.ts'
import { googleFault } from './faults.ts'
import { authorizeByHand, grantByHand } from './grant-by-hand.ts'
import type { GoogleGround } from './ground.ts'
import { openSigningKeys, type SigningKeys } from '../signing/keys.ts'
import { openIdHost } from './openid-host.ts'
import { GOOGLE_EXAMPLE, GOOGLE_FIELDS, googleSeedOf, SeedClientSchema, type SeedClient } from './seed.ts'
import { tokenHost } from './token-host.ts'
import { wwwHost } from './www-host.ts'

/** Google in one world. */
export interface Google extends PlayedProvider {
  readonly accounts: Accounts
  readonly gmail: Gmail
  readonly people: People
  readonly calendars: Calendars
  readonly keys: SigningKeys
}

const host = (name: string, port: number, servesPages = false) => ({
  name,
  port,
  servesPages,
  refuse: googleFault,
})

/** Google's sign-in, Gmail, contacts and calendars. */
export const google: Provider = {
  name: 'google',
  clouds: [],
  hosts: [
    host('accounts.google.com', 1, true),
    host('oauth2.googleapis.com', 2),
    host('openidconnect.googleapis.com', 3),
    host('www.googleapis.com', 4),
    host('gmail.googleapis.com', 5),
    host('people.googleapis.com', 15),
    host(PHOTO_HOST, 16),
  ],
  users: {
    // The `sub` of ID tokens.
    newId: random => random.digits(21),
    personalDomains: new Set(['gmail.test', 'gmail.com', 'googlemail.com']),
    mailHosts: () => ['aspmx.l.google.com'],
    problemOf: ({ delegates }) =>
      delegates.length > 0 ? 'delegates: a mailbox of Gmail has none here.' : null,
  },
  seed: { fields: GOOGLE_FIELDS, client: SeedClientSchema, example: GOOGLE_EXAMPLE },
  async start() {
    const keys = openSigningKeys('accounts.sandbox.test')
    return (ground, users, seed) => begin(ground, users, seed, keys)
  },
}

/** Google in a world of a sandbox that plays it. */
export function googleIn(world: World): Google {
  // Only `begin` below makes a provider of this name.
  const found = world.providers.get(google.name) as Google | undefined
  if (!found) throw new Error('the sandbox does not play Google')
  return found
}

function begin(shared: Ground, users: Users, seed: WorldSeed, keys: SigningKeys): Google {
  const accounts = openAccounts(shared, googleSeedOf(seed))
  const ground: GoogleGround = { ...shared, users, accounts, keys }
  const gmail = openGmail(ground)
  const people = openPeople(ground)
  const calendars = openCalendars(ground)
  return {
    accounts,
    gmail,
    people,
    calendars,
    keys,
    apps: appsOf(ground, gmail.app, people, calendars.app),
    controls: googleControls(ground, { gmail, people, calendars }),
    // Parsed by the schema that the provider names for its clients.
    addClient: ({ fields }) => accounts.addClient(fields as SeedClient),
    clients: () => [...accounts.clients.values()],
    grant: input => grantByHand(accounts, users, input),
    authorize: input => authorizeByHand(accounts, users, input),
    expire({ user, at }) {
      if (at !== null) throw new InvalidInput('at: Gmail has one kind of history id.')
      gmail.expireHistory(user)
    },
    configurePushes: gmail.configurePushes,
    rotateKeys: () => keys.rotate(),
    addUser(user, messages) {
      gmail.addUser(user, messages)
      people.addUser(user, messages)
      calendars.addUser(user, messages)
    },
    findByAlias: gmail.findByAlias,
    receive: gmail.receive,
    changePassword: user => accounts.grants.endMailGrants(user),
    close() {
      gmail.close()
      calendars.close()
    },
  }
}

const appsOf = (
  ground: GoogleGround,
  gmail: HostApp,
  people: People,
  calendar: HostApp,
): Record<string, HostApp> => ({
  'accounts.google.com': accountsHost(ground),
  'oauth2.googleapis.com': tokenHost(ground),
  'openidconnect.googleapis.com': openIdHost(ground),
  'www.googleapis.com': wwwHost(ground, gmail, calendar),
  'gmail.googleapis.com': gmail,
  'people.googleapis.com': people.app,
  [PHOTO_HOST]: people.photos,
})
