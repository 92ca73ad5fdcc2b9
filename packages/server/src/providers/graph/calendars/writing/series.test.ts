import { occurrencesIn } from '../../../../../../sandbox/src/microsoft/mailbox/occurrences.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  at,
  failing,
  membersOf,
  openWriting,
  series,
  creation,
} from '../../../../../test/graph/calendar-writing.ts'
import { type GraphServer, startGraph } from '../../../../../test/graph/graph-server.ts'
import { newId } from '../../../../kit/ids.ts'
import type { RemoteItem } from '../../../calendars.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

const open = (cloud: Parameters<typeof openWriting>[1] = 'global') => openWriting(server, cloud)

describe('a series', () => {
  const opened = async () => {
    const arranged = await open()
    const { key } = await arranged.create({ recurrence: series('FREQ=WEEKLY;COUNT=6', ['20261222T090000']) })
    const { calendarKey, options, writer, itemIn } = arranged
    const member = (wall: string) => ({ type: 'member', member: wall, memberKey: null }) as const
    const moved = { start: at('20261209T150000'), end: at('20261209T170000') }
    const excepted = await arranged.change(key, { subject: 'Other', ...moved }, member('20261208T090000'))
    const place = { calendarKey, key }
    const remove = async (part: Parameters<typeof writer.removeEvent>[0]['part']) =>
      writer.removeEvent({ place, part }, options)
    return { ...arranged, key, place, member, remove, excepted: itemIn(excepted) }
  }

  const exceptionsOf = (item: RemoteItem) =>
    item.members?.exceptions.map(({ member, event }) => [
      member,
      event.subject,
      event.start.wall,
      event.end.wall,
    ])

  test('has members of its own', async () => {
    const { excepted } = await opened()
    expect(exceptionsOf(excepted)).toEqual([
      ['20261208T090000', 'Other', '20261209T150000', '20261209T170000'],
    ])
    expect(excepted.members?.taken).toEqual(['20261222T090000'])
  })

  test('moves in time with its exceptions and the members that were deleted', async () => {
    const { change, key, itemIn } = await opened()
    const part = {
      type: 'all',
      timesOf: { member: '20261215T090000', memberKey: null, seriesStart: null },
    } as const
    const item = itemIn(await change(key, { start: at('20261216T100000') }, part))
    expect(item.event?.start.wall).toBe('20261202T100000')
    expect(membersOf(item)).toEqual(['20261202', '20261209', '20261216', '20261230', '20270106'])
    expect(item.members?.taken).toEqual(['20261223T100000'])
    expect(exceptionsOf(item)).toEqual([['20261209T100000', 'Other', '20261210T160000', '20261210T180000']])
  })

  test('keeps members outside of the window', async () => {
    const { create, change, changed, there, writer, options, calendarKey } = await open()
    const { key } = await create({
      start: at('20180105T090000'),
      end: at('20180105T100000'),
      recurrence: series('FREQ=WEEKLY', ['20180112T090000', '20291207T090000']),
    })
    const part = { type: 'member', member: '20291214T090000', memberKey: null } as const
    await change(key, { subject: 'Far ahead' }, part)
    await changed(key, { start: at('20180105T110000') })
    const [stored] = there()
    expect([...stored!.deleted]).toHaveLength(2)
    expect([...stored!.exceptions.values()].map(({ fields }) => fields.subject)).toEqual(['Far ahead'])
    const following = { type: 'following', member: '20291214T110000', memberKey: null } as const
    await writer.removeEvent({ place: { calendarKey, key }, part: following }, options)
    const [ended] = there()
    expect([[...ended!.deleted].length, ended!.exceptions.size]).toEqual([2, 0])
  })

  test('goes on where a change of it stopped', async () => {
    const { change, key, itemIn } = await opened()
    const part = { type: 'all', timesOf: null } as const
    const changes = { start: at('20261201T110000') }
    server.intercept = ({ method }) =>
      method === 'DELETE' ? Response.json({ error: { code: 'ErrorItemSave' } }, { status: 500 }) : null
    expect(await failing(change(key, changes, part))).toBe('unavailable')
    server.intercept = null
    const item = itemIn(await change(key, changes, part))
    expect(item.members?.taken).toEqual(['20261222T110000'])
    expect(exceptionsOf(item)).toEqual([['20261208T110000', 'Other', '20261209T170000', '20261209T190000']])
  })

  test('is split, first the new series and then the end of the old one, whenever a try is broken off', async () => {
    const { change, key, there, event, mailbox, itemIn } = await opened()
    const given = { creationId: newId() }
    const part = (mayExist: boolean) =>
      ({ type: 'following', member: '20261215T090000', memberKey: null, ...given, mayExist }) as const
    server.intercept = ({ method }) =>
      method === 'PATCH' ? Response.json({ error: { code: 'ErrorItemSave' } }, { status: 500 }) : null
    expect(await failing(change(key, { subject: 'New' }, part(false)))).toBe('unavailable')
    server.intercept = null
    expect(there()).toHaveLength(2)
    for (let tries = 0; tries < 2; tries += 1) {
      const after = await change(key, { subject: 'New' }, part(true))
      expect(there()).toHaveLength(2)
      const item = itemIn(after)
      expect(item).toMatchObject({ event: { subject: 'New' }, members: { taken: ['20261222T090000'] } })
      expect(membersOf(item)).toEqual(['20261215', '20261229', '20270105'])
      const old = after.items.find(one => one.object.key === key)!.object as RemoteItem
      expect(membersOf(old)?.toSorted()).toEqual(['20261201', '20261208'])
      expect(exceptionsOf(old)).toEqual([['20261208T090000', 'Other', '20261209T150000', '20261209T170000']])
    }
    expect(occurrencesIn(mailbox, event(key), { from: 0, to: Date.UTC(2030, 0) })).toHaveLength(2)
  })

  test('is split with the exceptions and deleted members that follow', async () => {
    const { change, key, itemIn } = await opened()
    const part = { type: 'following', member: '20261208T090000', memberKey: null, ...creation() } as const
    const after = await change(key, { start: at('20261208T080000') }, part)
    const item = itemIn(after)
    expect(membersOf(item)).toEqual(['20261208', '20261215', '20261229', '20270105'])
    expect(item.members?.taken).toEqual(['20261222T080000'])
    expect(exceptionsOf(item)).toEqual([['20261208T080000', 'Other', '20261209T140000', '20261209T160000']])
    expect(after.gone).toHaveLength(1)
  })

  test('loses a member, and those that follow', async () => {
    const { remove, member, itemIn, key } = await opened()
    const one = await remove(member('20261208T090000'))
    expect(itemIn(one).members).toEqual({ exceptions: [], taken: ['20261208T090000', '20261222T090000'] })
    expect(one.gone).toHaveLength(1)
    const rest = await remove({ ...member('20261229T090000'), type: 'following' })
    expect(membersOf(itemIn(rest))).toEqual(['20261201', '20261215'])
    expect(itemIn(rest).members?.taken).toEqual(['20261208T090000', '20261222T090000'])
    expect(rest.place.key).toBe(key)
    expect(await failing(remove(member('20261230T090000')))).toBe('not_found')
  })

  test('does not change a member of another series by a key that is not its own', async () => {
    const { create, change, key, there } = await opened()
    const { occurrences } = await create({ recurrence: series('FREQ=WEEKLY;COUNT=6') })
    const part = { type: 'member', member: '20261215T090000', memberKey: occurrences![1]!.key } as const
    await change(key, { subject: 'Own' }, part)
    expect(there().map(({ exceptions }) => exceptions.size)).toEqual([2, 0])
  })

  test('does not let a member pass its neighbour', async () => {
    const { change, key, member } = await opened()
    const work = change(key, { start: at('20261230T090000') }, member('20261215T090000'))
    expect(await failing(work)).toBe('rejected')
  })
})
