import { afterAll, beforeAll, expect, test } from 'vitest'
import { Waxwing } from '../../../../sdk/src/index.ts'
import { seeded } from '../../seeded.ts'
import { connectSender, openSendingApp, type SendingApp } from '../../sending/open-sending.ts'
import { openWorld } from '../../servers/world.ts'
import { numberFor } from '../../soak.ts'
import { QUICK_PACE, waitForFirstSync } from '../../sync/followed-account.ts'
import { ANSWER_FAULTS, ANSWER_PARTS, startAnswerProxy } from './answer-proxy.ts'
import { judge } from './judge.ts'
import { callAtRandom } from './random-calls.ts'

const SEEDS = numberFor({ ci: 5, soak: 50 })
/** Most of their time is waiting. */
const AT_ONCE = 5
const CALLS = numberFor({ ci: 16, soak: 500 })
/** The share of requests that meet a fault. */
const FAULTY = 0.4
/** Shorter than a late answer takes, and longer than any other does on a busy machine. */
const TIMEOUT_MS = 3000

let sending: SendingApp
let accountId: string
beforeAll(async () => {
  sending = await openSendingApp({ app: { roles: ['api', 'jobs', 'sync'], pace: QUICK_PACE } })
  const user = await sending.imap.addUser()
  await using world = await openWorld(sending.imap, user)
  await world.createMailbox('Drafts').catch(() => {})
  accountId = await connectSender(sending.app, sending, { user })
  await waitForFirstSync(sending.app, accountId)
})
afterAll(() => sending[Symbol.asyncDispose]())

/** Makes the calls of a seed. @returns what contradicts what the client said */
async function judgeSeed(seed: number): Promise<string[]> {
  const { app, sink } = sending
  const random = seeded(seed)
  const faults = random.fork('faults')
  await using proxy = await startAnswerProxy({
    target: () => app.address,
    draw: () =>
      faults.chance(FAULTY) ? { fault: faults.pick(ANSWER_FAULTS), part: faults.pick(ANSWER_PARTS) } : null,
  })
  const waxwing = new Waxwing({ baseUrl: proxy.url, key: app.key, timeoutMs: TIMEOUT_MS })
  const attempts = await callAtRandom(waxwing, { accountId, random, calls: CALLS, run: `Seed ${seed}` })
  const undisturbed = new Waxwing({ baseUrl: app.address, key: app.key })
  const wrong = await judge(attempts, { waxwing: undisturbed, accountId, sink })
  return proxy.counts.size > 3 ? wrong : [...wrong, `Seed ${seed} had no faults`]
}

test.each(Array.from({ length: SEEDS / AT_ONCE }, (_, batch) => batch * AT_ONCE))(
  'no write is doubled or lost over a connection with faults: seed %d and those after it',
  async first => {
    const seeds = Array.from({ length: AT_ONCE }, (_, nth) => first + nth)
    expect((await Promise.all(seeds.map(judgeSeed))).flat()).toEqual([])
  },
)
