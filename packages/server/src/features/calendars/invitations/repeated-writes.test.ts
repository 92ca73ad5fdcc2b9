import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MAILED_WRITES } from '../../../../test/calendars/mailed-writes.ts'
import { type MailingDoor, openMailingDoor } from '../../../../test/calendars/mailing-door.ts'
import { ProviderFailure } from '../../../providers/failure.ts'

let door: MailingDoor
beforeAll(async () => void (door = await openMailingDoor()))
afterAll(() => door?.[Symbol.asyncDispose]())

describe('a request that is sent again after its answer was lost', () => {
  test.each(Object.keys(MAILED_WRITES).filter(name => !/^(?:split|move)/.test(name)))(
    'mails each person of a %s once',
    async name => {
      const { ask, mails } = MAILED_WRITES[name]!
      const account = await door.openMailingAccount()
      account.memory.lostAnswers = 1
      expect((await ask(door, account)).status).toBe(502)
      // An occurrence that is gone cannot be deleted again.
      expect([200, 404]).toContain((await ask(door, account)).status)
      await door.endLeases(account.id)
      await account.pass()
      expect(await door.readQueued(account.id)).toEqual(mails)
      await door.expectNoIntent(account.id)
    },
  )

  test.each(['creation', 'reply', 'change of the people'])(
    'does not forget the mails of a %s if it does not get through itself',
    async name => {
      const { ask, mails } = MAILED_WRITES[name]!
      const account = await door.openMailingAccount()
      account.memory.lostAnswers = 1
      expect((await ask(door, account)).status).toBe(502)
      const failed: string[] = []
      account.memory.onAwait = (call = '') => {
        if (!/^(?:createEvent|changeEvent|respond)$/.test(call)) return
        failed.push(call)
        throw new ProviderFailure('unavailable', 'The server is away.', { isBeforeAcceptance: true })
      }
      expect((await ask(door, account)).status).toBe(502)
      expect(failed).toHaveLength(1)
      account.memory.onAwait = () => undefined
      await account.pass()
      await door.endLeases(account.id)
      await account.pass()
      expect(await door.readQueued(account.id)).toEqual(mails)
      await door.expectNoIntent(account.id)
    },
  )
})
