import { openGmail, type Gmail } from '../gmail/gmail.ts'
import { type Accounts, openAccounts } from '../google/accounts.ts'
import type { SigningKeys } from '../google/keys.ts'
import { type CallLog, openCallLog } from './calls.ts'
import { type Clock, openClock } from './clock.ts'
import { type Faults, openFaults } from './faults.ts'
import { openRandom, type Random } from './random.ts'
import type { Seed } from './seed.ts'
import { openUsers, type User, type Users } from './users.ts'

/** What lies outside the world and stays when it begins again. */
export interface Surroundings {
  /** Origin of each host, such as `http://127.0.0.1:8045` of `gmail.googleapis.com`. */
  readonly origins: Readonly<Record<string, string>>
  readonly keys: SigningKeys
}

/** Everything that a sandbox knows. `POST /reset` opens a new world and forgets the old one. */
export interface World extends Surroundings {
  readonly clock: Clock
  readonly random: Random
  readonly users: Users
  readonly calls: CallLog
  readonly faults: Faults
  /** Google's sign-in: clients, grants, tokens. */
  readonly accounts: Accounts
  readonly gmail: Gmail
  /** Adds a user with a mailbox. */
  addUser(user: { email: string; name?: string; messages?: number }): User
  /** Ends the work that goes on by itself, such as pushes. */
  close(): void
}

/** What the parts of a world are made with. */
export type Ground = Surroundings & Pick<World, 'clock' | 'random' | 'users' | 'calls' | 'faults'>

export function openWorld(seed: Seed, surroundings: Surroundings): World {
  const clock = openClock(seed.now === undefined ? undefined : Date.parse(seed.now))
  const random = openRandom(seed.random ?? 1)
  const ground: Ground = {
    ...surroundings,
    clock,
    random,
    users: openUsers(random.stream('users')),
    calls: openCallLog(clock.now),
    faults: openFaults(random.stream('faults')),
  }
  const accounts = openAccounts(ground, seed)
  const gmail = openGmail({ ...ground, accounts })
  const world: World = {
    ...ground,
    accounts,
    gmail,
    addUser({ email, name, messages = 0 }) {
      const user = ground.users.add(email, name)
      gmail.addUser(user, messages)
      return user
    },
    close: () => gmail.close(),
  }
  for (const user of seed.users ?? []) world.addUser(user)
  return world
}
