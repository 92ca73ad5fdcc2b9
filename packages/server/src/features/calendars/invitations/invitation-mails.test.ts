import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectEqualIndex } from '../../../../test/calendars/equal-index.ts'
import { MAILED_WRITES } from '../../../../test/calendars/mailed-writes.ts'
import { type MailingDoor, openMailingDoor } from '../../../../test/calendars/mailing-door.ts'
import { casesFor } from '../../../../test/soak.ts'
import { seedsFor } from '../../../../test/sync/disturbance.ts'

let door: MailingDoor
beforeAll(async () => void (door = await openMailingDoor()))
afterAll(() => door?.[Symbol.asyncDispose]())

/** At every other moment, the sync sees the effect of a killed write before it finishes that. */
const SEEDS = seedsFor(1).slice(0, 2)
/** More moments than any write has. */
const MOMENTS_MAX = 30

/** In CI, one that makes an event, one of two calls, and one of a guest. */
const WALKED = casesFor(Object.keys(MAILED_WRITES), name => ['creation', 'split', 'reply'].includes(name))

test.each(SEEDS.flatMap(seed => WALKED.map(name => [name, seed] as const)))(
  'a %s that is killed anywhere mails each person once, or not at all (%i)',
  async (name, seed) => {
    const { ask, mails, isRepeated = false } = MAILED_WRITES[name]!
    let isThrough = false
    let mailed = 0
    for (let killedAt = 1; !isThrough; killedAt++) {
      expect(killedAt).toBeLessThan(MOMENTS_MAX)
      const account = await door.openMailingAccount()
      const { memory } = account
      memory.onAwait = door.reach
      const before = JSON.stringify([...memory.items.values()])
      door.killAt(killedAt)
      isThrough = (await ask(door, account)).status === 200
      door.killAt(null)
      // Before the lease of the write has ended, the sync may see its effect already.
      if ((killedAt + seed) % 2 === 0) {
        await account.pass()
        if (isRepeated) expect((await ask(door, account)).status).toBe(200)
      }
      await door.endLeases(account.id)
      await account.pass()
      if (isRepeated) expect((await ask(door, account)).status).toBe(200)
      await account.pass()
      const isWritten = JSON.stringify([...memory.items.values()]) !== before
      expect(await door.readQueued(account.id)).toEqual(isWritten ? mails : [])
      if (isWritten) mailed++
      await door.expectNoIntent(account.id)
      await expectEqualIndex(door.db, account, account.initial)
    }
    // Once killed behind the write, and once not at all.
    expect(mailed).toBeGreaterThan(1)
  },
)
