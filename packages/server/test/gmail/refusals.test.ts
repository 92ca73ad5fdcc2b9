import { describe, expect, test } from 'vitest'
import { openIndex } from '../../src/providers/conformance/memory-index.ts'
import { QuotaGovernor } from '../../src/providers/google/governor.ts'
import { type Arranged, letter, useMailboxes } from './arranged-mailbox.ts'
import { configureGmail } from './gmail-client.ts'

const arrange = useMailboxes()

const NO_LIMIT = 1e9
const host = 'gmail.googleapis.com'

describe('a spent quota', () => {
  const reach = (arranged: Arranged, governor: QuotaGovernor) =>
    arranged.connect({ quota: governor.userOf('project', arranged.email) }).mail
  const openGovernor = () =>
    new QuotaGovernor({ userUnitsPerMinute: NO_LIMIT, projectUnitsPerMinute: NO_LIMIT, now: () => 0 })

  test.each([
    ['the project lets no user of it ask', { projectUnitsPerMinute: 10 }, true, []],
    ['a user lets others ask', { unitsPerMinute: 10 }, false, ['GET messages/none']],
  ])('of %s', async (_, quota, isBusy, calls) => {
    await using ada = await arrange()
    await using ben = await arrange()
    const governor = openGovernor()
    await configureGmail(ada.server, { quota: 'standard', ...quota })
    try {
      const refused = { kind: 'throttled', retryAfterSeconds: 2 }
      await expect(reach(ada, governor).locate(null, ['none'])).rejects.toMatchObject({
        ...refused,
        isBusy: false,
      })
      await expect(reach(ben, governor).locate(null, ['none'])).rejects.toMatchObject({ ...refused, isBusy })
      expect(await ben.takeCalls()).toEqual(calls)
    } finally {
      const off = { quota: 'off', unitsPerMinute: null, projectUnitsPerMinute: 1_200_000 }
      await configureGmail(ada.server, off)
    }
  })

  test('in a part of a batch names the time to wait', async () => {
    await using arranged = await arrange()
    const { client, server } = arranged
    await using account = arranged.connect()
    const index = openIndex('history')
    await index.follow(account.mail)
    for (const number of [1, 2, 3]) await client.insert(letter(number), ['INBOX'])
    await server.addFault({ does: 'rate_limit', host, path: '/gmail/v1/users/me/messages/*' })
    const refused = { kind: 'throttled', retryAfterSeconds: 2, isBusy: false }
    await expect(index.compare(account.mail)).rejects.toMatchObject(refused)
    await server.clearFaults()
  })
})

test('a message about which Gmail does not answer keeps no other change from being reported', async () => {
  await using arranged = await arrange()
  const { client, server } = arranged
  const [bad, ...others] = await Promise.all(
    [1, 2, 3].map(number => client.insert(letter(number), ['INBOX'])),
  )
  const otherIds = others.map(({ id }) => id)
  await using account = arranged.connect()
  const index = openIndex('history')
  await index.follow(account.mail)
  // The client asks again until it is answered, so it changes everything before.
  for (const id of [bad!.id, ...otherIds]) await client.modify(id, { remove: ['INBOX'] })
  await server.addFault({ does: 'error', status: 500, host, path: `/gmail/v1/users/me/messages/${bad!.id}` })

  const { found, gone, unreadable } = await account.mail.locate(null, [bad!.id, ...otherIds, 'none'])
  expect([...found.keys()].toSorted()).toEqual(otherIds.toSorted())
  expect(gone).toEqual(['none'])
  expect(unreadable).toEqual([{ key: bad!.id, reason: expect.stringContaining('Gmail answered 500') }])
  expect(await account.mail.locate(null, [bad!.id])).toMatchObject({ unreadable: [{ key: bad!.id }] })

  await index.compare(account.mail)
  expect([...index.unreadable.keys()]).toEqual([bad!.id])
  for (const id of otherIds) expect(index.messages.get(id)?.mailboxKeys).toEqual(['ALL_MAIL'])
  const before = index.cursor
  await index.compare(account.mail)
  expect(index.cursor).toEqual(before)

  await server.addFault({ does: 'error', status: 500, host })
  await expect(account.mail.locate(null, [bad!.id])).rejects.toMatchObject({ kind: 'unavailable' })
  await server.clearFaults()
})
