import { openCallLog } from './calls.ts'
import { openClock } from './clock.ts'
import { openFaults } from './faults.ts'
import type { Ground } from './ground.ts'
import { openPostOffice } from './post-office.ts'
import type { BeginProvider, PlayedProvider, Provider } from './provider.ts'
import { openRandom } from './random.ts'
import { readClient, requireCloud, type SeedClient, type SeedUser, type WorldSeed } from './seed.ts'
import { InvalidInput } from './invalid-input.ts'
import { type AllUsers, openUsers, type User } from './users.ts'

/** A provider that has started, and can begin in any world. */
export interface StartedProvider {
  readonly provider: Provider
  readonly begin: BeginProvider
}

/** The state of a sandbox. `POST /reset` opens a new world and forgets the old one. */
export interface World extends Ground {
  readonly users: AllUsers
  /** Each provider in this world, by its name. */
  readonly providers: ReadonlyMap<string, PlayedProvider>
  /** Adds a user with a mailbox, by default at the first provider. Throws `InvalidInput` if there can be no such user. */
  addUser(user: SeedUser): User
  /** Changes who may open a user's mailbox. Throws `InvalidInput` if the provider shares none of that kind. */
  changeDelegates(user: User, delegates: readonly string[]): void
  /** Adds an OAuth client, by default of the first provider. Returns it as the control API shows it. */
  addClient(client: SeedClient): object
  /** The hosts that take the mail of a domain, as its MX records would name them; none without users there. */
  mailHosts(domain: string): readonly string[]
  /** Ends the work that goes on by itself, such as pushes. */
  close(): void
}

export function openWorld(
  seed: WorldSeed,
  started: readonly StartedProvider[],
  origins: Ground['origins'],
): World {
  const clock = openClock(seed.now === undefined ? undefined : Date.parse(seed.now))
  const random = openRandom(seed.random ?? 1)
  const users = openUsers()
  const providers = new Map<string, PlayedProvider>()
  const ground: Ground = {
    origins,
    clock,
    random,
    calls: openCallLog(clock.now),
    faults: openFaults(random.stream('faults')),
    post: openPostOffice(users, providers),
  }
  for (const { provider, begin } of started)
    providers.set(provider.name, begin(ground, users.of(provider.name), seed))
  const userIds = random.stream('users')
  const requireProvider = (name = started[0]?.provider.name) => {
    const found = started.find(({ provider }) => provider.name === name)?.provider
    if (!found) throw new Error(`the provider ${name} is not played`)
    return found
  }
  const world: World = {
    ...ground,
    users,
    providers,
    addUser({ messages = 0, ...given }) {
      const provider = requireProvider(given.provider)
      const user = newUser(provider, given, userIds)
      const problem = provider.users.problemOf(user)
      if (problem !== null) throw new InvalidInput(problem)
      users.add(user)
      providers.get(user.provider)?.addUser(user, messages)
      return user
    },
    changeDelegates(user, delegates) {
      const changed = { ...user, delegates: delegates.map(email => email.toLowerCase()) }
      const problem = requireProvider(user.provider).users.problemOf(changed)
      if (problem !== null) throw new InvalidInput(problem)
      user.delegates = changed.delegates
    },
    addClient(client) {
      const provider = requireProvider(client.provider)
      const added = providers.get(provider.name)?.addClient(readClient(provider, client))
      return { provider: provider.name, ...added }
    },
    mailHosts(domain) {
      const ending = `@${domain.toLowerCase()}`
      const user = users.list().find(({ email }) => email.endsWith(ending))
      return user ? requireProvider(user.provider).users.mailHosts(user) : []
    },
    close() {
      for (const provider of providers.values()) provider.close()
    },
  }
  for (const client of seed.clients ?? []) world.addClient(client)
  for (const user of seed.users ?? []) world.addUser(user)
  return world
}

function newUser(
  provider: Provider,
  { email: given, name, cloud, delegates = [] }: SeedUser,
  random: Ground['random'],
): User {
  const email = given.toLowerCase()
  const [local = '', domain = ''] = email.split('@')
  const organization = provider.users.personalDomains.has(domain) ? null : domain
  return {
    id: provider.users.newId(random, organization),
    email,
    name: name ?? local.charAt(0).toUpperCase() + local.slice(1),
    provider: provider.name,
    cloud: requireCloud(provider, cloud),
    organization,
    suspended: false,
    delegates: delegates.map(address => address.toLowerCase()),
  }
}
