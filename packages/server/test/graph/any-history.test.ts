import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Folder, Message } from '../../../sandbox/src/microsoft/mailbox/message.ts'
import { addFolder, changeFolder, removeFolder } from '../../../sandbox/src/microsoft/mailbox/folders.ts'
import { type Mailbox, wellKnownFolder } from '../../../sandbox/src/microsoft/mailbox/mailbox.ts'
import {
  addMessage,
  changeMessage,
  moveMessage,
  removeMessage,
} from '../../../sandbox/src/microsoft/mailbox/messages.ts'
import type { OwnedAccount } from '../../src/accounts/halves/ownership.ts'
import type { Db } from '../../src/database/pool.ts'
import { letter } from '../../src/providers/conformance/arrangement.ts'
import { ProviderFailure } from '../../src/providers/failure.ts'
import type { MailProvider } from '../../src/providers/mail.ts'
import { lineOf } from '../mail-worlds.ts'
import { ownAccount, pass, readFeed, readIndex, readPlaces } from '../memory-account.ts'
import { openTestDatabase } from '../open-database.ts'
import { type Random, seeded } from '../seeded.ts'
import { useServer } from '../servers/shared-server.ts'
import { seedsFor } from '../sync/disturbance.ts'
import { startGraph } from './graph-server.ts'

const ROUNDS = 12
const MINUTE_MS = 60_000
/** The times after which changes are found that nothing shows: the link of a folder is asked, or the folder is listed. */
const FOUND_MS = { global: 16 * MINUTE_MS, china: 25 * 60 * MINUTE_MS } as const

const server = useServer(startGraph)

/** A mailbox that others change. */
class Others {
  readonly mailbox: Mailbox
  readonly #random: Random
  readonly #made: Folder[] = []
  #count = 0

  constructor(mailbox: Mailbox, random: Random) {
    this.mailbox = mailbox
    this.#random = random
  }

  /** Each message, which has more than one id. */
  #messages(): Message[] {
    return [...new Set(this.mailbox.byId.values())]
  }

  #folder(): Folder {
    const known = (['inbox', 'inbox', 'archive', 'deleteditems'] as const).map(name =>
      wellKnownFolder(this.mailbox, name),
    )
    return this.#random.pick([...known, ...this.#made])
  }

  /** Does what another client might. */
  disturb(): void {
    const { mailbox } = this
    const kind = this.#random.between(0, 16)
    const all = this.#messages()
    const message = all.length === 0 ? null : this.#random.pick(all)
    if (kind < 5 || message === null) {
      const raw = Buffer.from(letter((this.#count += 1)))
      addMessage(mailbox, { folder: this.#folder(), raw })
    } else if (kind < 8) this.#flag(message)
    else if (kind < 11) moveMessage(mailbox, message, this.#folder())
    else if (kind < 12) {
      const { folder } = message
      moveMessage(mailbox, message, this.#folder())
      moveMessage(mailbox, message, folder)
    } else if (kind < 14) removeMessage(mailbox, message)
    else this.#changeFolders(kind)
  }

  #flag(message: Message): void {
    changeMessage(this.mailbox, message, {
      isRead: this.#random.chance(0.5),
      flag: { flagStatus: this.#random.pick(['flagged', 'notFlagged']) },
      ...(this.#random.chance(0.3) && { categories: ['Red category'] }),
    })
  }

  #changeFolders(kind: number): void {
    const { mailbox } = this
    const root = wellKnownFolder(mailbox, 'msgfolderroot')
    const displayName = `Made ${(this.#count += 1)}`
    if (kind === 14 && this.#made.length < 3)
      this.#made.push(addFolder(mailbox, { displayName, parent: root }))
    else if (this.#made.length === 0) return
    else if (kind === 15) changeFolder(mailbox, this.#random.pick(this.#made), { displayName })
    else if (this.#random.chance(0.3)) removeFolder(mailbox, this.#made.pop()!)
  }

  /** Every message, as `readPlaces` writes them. */
  truth(): string[] {
    return this.#messages()
      .map(({ subject, folder, isRead, flag, categories }) =>
        lineOf(subject, folder.displayName, [isRead, flag.flagStatus === 'flagged', categories]),
      )
      .toSorted()
  }
}

/** A folder may be deleted in the midst of a pass: the next one no longer lists it. */
const isTransient = (error: unknown) =>
  error instanceof ProviderFailure &&
  ['unavailable', 'throttled', 'conflict', 'not_found'].includes(error.kind)

async function passUntilCaughtUp(db: Db, owned: OwnedAccount, connect: () => MailProvider): Promise<void> {
  for (let tries = 0, quiet = 0; tries < 60; tries += 1) {
    // Messages that could not be read are due again.
    await sql`update quarantined_message set next_attempt_at = clock_timestamp()`.execute(db)
    try {
      const { hasMore, unreadable } = await pass(db, owned, { connect })
      quiet = hasMore || unreadable > 0 ? 0 : quiet + 1
      if (quiet === 3) return
    } catch (error) {
      if (!isTransient(error)) throw error
    }
  }
  throw new Error('does not come to rest')
}

const RUNS = (['global', 'china'] as const).flatMap(cloud =>
  seedsFor(1).map((seed): ['global' | 'china', number] => [cloud, seed]),
)

test.each(RUNS)(
  'the index comes to equal a mailbox that others change, with faults and expired links (%s, seed %i)',
  async (cloud, seed) => {
    await using database = await openTestDatabase()
    const { db } = database
    const graph = server()
    const random = seeded(`graph ${cloud} ${seed}`)
    graph.mail.configure({ arrivals: 'random', repeats: 0.2, sparse: 0.5 })
    const { email, mailbox } = graph.addUser(cloud)
    const others = new Others(mailbox, random)
    for (let count = 0; count < 60; count += 1) others.disturb()
    let account = graph.connect(email, { now: () => graph.clock.now() })
    const connect = () => {
      // A connection remembers what it has seen; a process that begins again does not.
      if (random.chance(0.3)) account = graph.connect(email, { now: () => graph.clock.now() })
      return account.mail
    }
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, connect)
    expect(await readPlaces(db)).toEqual(others.truth())
    const initial = await readIndex(db)

    for (let round = 0; round < ROUNDS; round += 1) {
      // A walk would also make up for anything that is lost, so that the last rounds have none.
      const mayExpire = round < ROUNDS / 2
      graph.intercept = () => {
        if (random.chance(0.25)) others.disturb()
        if (mayExpire && random.chance(0.05)) graph.mail.expire({ user: null, at: null })
        return random.chance(0.1) ? Response.json({ error: { code: 'UnknownError' } }, { status: 503 }) : null
      }
      if (random.chance(0.3)) graph.clock.turn(random.pick([20_000, 10 * MINUTE_MS, 40 * MINUTE_MS]))
      await pass(db, owned, { connect }).catch((error: unknown) => {
        if (!isTransient(error)) throw error
      })
    }
    graph.intercept = null
    for (let times = 0; times < 2; times += 1) {
      graph.clock.turn(FOUND_MS[cloud])
      await passUntilCaughtUp(db, owned, connect)
    }

    expect(await readPlaces(db)).toEqual(others.truth())
    const feed = await readFeed(db)
    const ids = new Set(initial.map(({ id }) => id))
    const bySubject = new Map(initial.map(({ id, content }) => [content, id]))
    for (const { type, data } of feed) {
      if (!data.message) continue
      const { id, subject } = data.message
      expect(bySubject.get(subject) ?? id, `the id of ${subject}`).toBe(id)
      bySubject.set(subject, id)
      expect(ids.has(id), `${type} of ${subject}`).toBe(type !== 'message.created')
      if (type === 'message.deleted') ids.delete(id)
      else ids.add(id)
    }
    expect([...ids].toSorted()).toEqual((await readIndex(db)).map(({ id }) => id).toSorted())
  },
)
