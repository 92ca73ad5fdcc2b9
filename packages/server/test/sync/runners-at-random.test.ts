import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { expect, test, vi } from 'vitest'
import type { HalfKind } from '../../src/accounts/halves/kind.ts'
import { recordPushed } from '../../src/accounts/halves/notice.ts'
import { recordReachChanged } from '../../src/accounts/halves/reach.ts'
import { wantedWith } from '../../src/accounts/halves/wanted.ts'
import type { Database, DatabaseAddress, Db } from '../../src/database/pool.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { guardProcess } from '../guard/guard.ts'
import { addHalf, matchHalves } from '../halves.ts'
import { openTestDatabase } from '../open-database.ts'
import { PROBLEMS, type Trouble } from '../provided-halves.ts'
import { sampleAccount, sampleTenant } from '../sample-rows.ts'
import { type Random, seeded } from '../seeded.ts'
import { waitUntil } from '../wait-until.ts'
import { seedsFor } from './disturbance.ts'
import type { Answered, Asked } from './two-halves-process.ts'

const SEEDS = seedsFor(1)
const ACCOUNTS = 2
const ROUNDS = 2
const ACTS = 2
const FLOOD = 25
/** Longer than a busy machine keeps a process waiting. */
const STALL_SECONDS = 15
const KINDS = ['mail', 'calendar'] as const
const PROGRAM = fileURLToPath(new URL('two-halves-process.ts', import.meta.url))

/** A seed spends most of its time waiting, so several run at once. */
vi.setConfig({ maxConcurrency: 3 })

/** The service in a process of its own, which follows mail and calendars. */
async function startService(address: DatabaseAddress) {
  const child = fork(PROGRAM, [JSON.stringify({ address, stallSeconds: STALL_SECONDS })])
  guardProcess(child)
  const ended = once(child, 'exit')
  const waiting = new Map<number, PromiseWithResolvers<Answered>>()
  child.on('message', (answered: Answered) => {
    waiting.get(answered.ask)?.resolve(answered)
    waiting.delete(answered.ask)
  })
  child.once('exit', () => {
    for (const { reject } of waiting.values()) reject(new Error('The service has ended'))
  })
  let asks = 0
  return {
    ask(asked: Omit<Asked, 'ask'>): Promise<Answered> {
      const answer = Promise.withResolvers<Answered>()
      const ask = ++asks
      waiting.set(ask, answer)
      child.send({ ...asked, ask } satisfies Asked)
      return answer.promise
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

type Service = Awaited<ReturnType<typeof startService>>

/** A half that this test disturbs, beside the other half of its account. */
class Side {
  readonly #db: Db
  readonly #account: { id: string; tenantId: string }
  readonly kind: HalfKind
  #service: Service

  constructor(db: Db, account: { id: string; tenantId: string }, kind: HalfKind, service: Service) {
    this.#db = db
    this.#account = account
    this.kind = kind
    this.#service = service
  }

  ask(trouble?: Trouble): Promise<Answered> {
    const asked = { accountId: this.#account.id, kind: this.kind }
    return this.#service.ask(trouble === undefined ? asked : { ...asked, trouble })
  }

  async read() {
    const row = await this.#db
      .selectFrom('account_half')
      .select(['runtime_state', 'runtime_detail', 'problem', 'failing_since', 'sync_wanted', 'owner_epoch'])
      .where('account_id', '=', this.#account.id)
      .where('kind', '=', this.kind)
      .executeTakeFirstOrThrow()
    expect([null, PROBLEMS[this.kind]]).toContain(row.problem)
    return row
  }

  async want(): Promise<void> {
    await sql`
      update account_half set sync_wanted = ${wantedWith([this.kind])}
      where account_id = ${this.#account.id} and kind = ${this.kind}
    `.execute(this.#db)
  }

  async push(): Promise<void> {
    await recordPushed(this.#db, this.kind, sql<boolean>`account.id = ${this.#account.id}`)
  }

  restart(): Promise<void> {
    const { id, tenantId } = this.#account
    return inTransaction(this.#db, tenantId, unit => recordReachChanged(unit, [id], [this.kind]))
  }

  async awaitState(state: string): Promise<void> {
    await waitUntil(`${this.kind} to be ${state}`, async () => (await this.read()).runtime_state === state)
  }

  /** Waits until the half is live without a problem, all wants are taken and its reads go on over one connection. */
  async awaitRest(): Promise<Answered> {
    const before = await this.ask()
    await waitUntil(`${this.kind} to come to rest`, async () => {
      const row = await this.read()
      const isWell = row.runtime_state === 'live' && row.problem === null && row.failing_since === null
      if (!isWell || row.sync_wanted.length > 0) return false
      const now = await this.ask()
      return now.open === 1 && now.reads > before.reads
    })
    return this.ask()
  }

  async heal(): Promise<void> {
    await this.ask(null)
    await this.want()
  }
}

interface Act {
  disturb(side: Side): Promise<unknown>
  /** The connections that the half opens for it, at least and at most. */
  opened: [number, number]
}

const ACTS_BY_NAME: Record<string, Act> = {
  'a flood of wants': {
    disturb: side => Promise.all(Array.from({ length: FLOOD }, () => side.want())),
    opened: [0, 0],
  },
  'a flood of notices': {
    disturb: side => Promise.all(Array.from({ length: FLOOD }, () => side.push())),
    opened: [0, 0],
  },
  // The follower and the engine may both see that a restart is wanted.
  'a restart': { disturb: side => side.restart(), opened: [1, 2] },
  'a broken connection': {
    async disturb(side) {
      await side.ask('break')
      await side.awaitState('backoff')
      await side.heal()
    },
    opened: [1, 1],
  },
  'a refusal': {
    async disturb(side) {
      await side.ask('refuse')
      await side.restart()
      await waitUntil('the problem', async () => (await side.read()).problem !== null)
      await side.heal()
    },
    opened: [1, 2],
  },
}

/** Takes as long as a stall is waited for, so it happens to one half of each seed. */
const HANGING_READ: Act = {
  async disturb(side) {
    await side.ask('hang')
    await waitUntil('the stall', async () => (await side.read()).runtime_detail?.includes('no progress'))
    await side.heal()
  },
  opened: [1, 1],
}

/** Disturbs one half again and again. Every connection that it opens is caused by one of its own disturbances. */
async function disturb(side: Side, random: Random, hangs: boolean): Promise<void> {
  for (let nth = 0; nth < ACTS; nth++) {
    const [name, act] =
      hangs && nth === 0 ? ['a read that hangs', HANGING_READ] : random.pick(Object.entries(ACTS_BY_NAME))
    const before = await side.awaitRest()
    await act.disturb(side)
    const { opened } = await side.awaitRest()
    const [least, most] = act.opened
    const message = `connections of ${side.kind} for ${name}`
    expect(opened - before.opened, message).toBeGreaterThanOrEqual(least)
    expect(opened - before.opened, message).toBeLessThanOrEqual(most)
  }
}

async function arrange({ db }: Database) {
  const tenant = await sampleTenant(db)
  const accounts = []
  for (let nth = 0; nth < ACCOUNTS; nth++) {
    const account = await sampleAccount(db, tenant.id)
    await addHalf(db, account.id, 'calendar')
    accounts.push(account)
  }
  return accounts
}

test.concurrent.each(SEEDS)(
  'failures, restarts and floods of one half leave the connection, problem and progress of the other alone (seed %s)',
  async seed => {
    await using database = await openTestDatabase()
    const { db, address } = database
    const accounts = await arrange(database)
    const random = seeded(seed)
    for (let round = 0; round < ROUNDS; round++) {
      await using service = await startService(address)
      const sides = accounts.flatMap(account => KINDS.map(kind => new Side(db, account, kind, service)))
      const atRest = await Promise.all(
        sides.map(async side => [side.kind, round, await side.awaitRest()] as const),
      )
      expect(atRest.filter(([, , { opened }]) => opened !== 1)).toEqual([])
      for (const side of sides) expect((await side.read()).owner_epoch).toBe(String(round + 1))
      const hanging = round === 0 ? random.pick(sides) : null
      await Promise.all(
        sides.map((side, nth) => disturb(side, random.fork(`${round}/${nth}`), side === hanging)),
      )
      if (round + 1 === ROUNDS) {
        await sql`update account set status = 'paused'`.execute(db)
        await matchHalves(db)
        await waitUntil('all connections to end', async () =>
          (await Promise.all(sides.map(side => side.ask()))).every(({ open }) => open === 0),
        )
      }
      // The process is killed while all of this is under way.
      await Promise.all(sides.flatMap(side => [side.want(), side.push(), side.restart()]))
      await service[Symbol.asyncDispose]()
      await sql`update instance set heartbeat_until = clock_timestamp() - interval '1 second'`.execute(db)
    }
  },
)
