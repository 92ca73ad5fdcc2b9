import { afterEach, describe, expect, test } from 'vitest'
import { addCalendar } from '../../../../../sandbox/src/microsoft/mailbox/calendars.ts'
import { arrangeCalendars } from '../../../../test/graph/arrange-calendars.ts'
import { startGraph } from '../../../../test/graph/graph-server.ts'
import { useServer } from '../../../../test/servers/shared-server.ts'
import { never } from '../../conformance/arrangement.ts'
import { GraphGovernor } from '../governor.ts'
import { OwnSlots } from '../slots.ts'

const server = useServer(startGraph)
afterEach(() => void (server().intercept = null))

const THROTTLED = { error: { code: 'ApplicationThrottled' } }

/** A mailbox with calendars of two pages, of which the second was refused once. */
async function openLong() {
  let now = Date.now()
  const { email, mailbox } = arrangeCalendars(server())
  // A pause that Graph asks for is over when the clock of the test is moved.
  const governor = new GraphGovernor({ now: () => now })
  const { calendars } = server().connect(email, {
    now: () => now,
    quotaOf: mailboxId => governor.quotaOf(mailboxId, new OwnSlots()),
  })
  for (let nth = 0; nth < 120; nth++) addCalendar(mailbox, `Calendar ${nth}`, 'auto')
  const asked: string[] = []
  let isThrottled = true
  server().intercept = ({ path }) => {
    if (!/\/calendars\?/.test(path)) return null
    const isSecond = path.includes('skip')
    asked.push(isSecond ? 'second' : 'first')
    return isSecond && isThrottled ? Response.json(THROTTLED, { status: 429 }) : null
  }
  await expect(calendars.listCalendars(never)).rejects.toMatchObject({ kind: 'throttled' })
  expect(asked[0]).toBe('first')
  asked.length = 0
  isThrottled = false
  return {
    calendars,
    asked,
    wait: (ms: number) => void (now += ms),
    async listKeys() {
      const listed = await calendars.listCalendars(never)
      return new Set(listed.map(({ key }) => key))
    },
  }
}

describe('a list of calendars that was throttled half way', () => {
  test('goes on where it stopped, and is whole', async () => {
    const { asked, listKeys, wait } = await openLong()
    wait(60_000)
    expect((await listKeys()).size).toBe(121)
    expect(asked).toEqual(['second'])
    expect((await listKeys()).size).toBe(121)
    expect(asked).toEqual(['second', 'first', 'second'])
  })

  test('begins again after five minutes', async () => {
    const { asked, listKeys, wait } = await openLong()
    wait(300_000)
    expect((await listKeys()).size).toBe(121)
    expect(asked).toEqual(['first', 'second'])
  })

  test('is whole for a write, which asks for all of it', async () => {
    const { asked, calendars, wait } = await openLong()
    wait(60_000)
    const creation = { creationId: 'a-creation', mayExist: false }
    await calendars.writer.createCalendar({
      name: 'New',
      description: null,
      color: null,
      timeZone: null,
      ...creation,
    })
    expect(asked.slice(0, 2)).toEqual(['first', 'second'])
  })
})
