import { afterAll, describe, expect, test } from 'vitest'
import { startCyrusDav } from '../../../test/servers/cyrus-dav.ts'
import { davTestClient } from '../../../test/servers/dav-client.ts'
import type { DavTestServer } from '../../../test/servers/dav-test-server.ts'
import { calendarFile, eventText } from '../../../test/servers/event-text.ts'
import { startRadicale } from '../../../test/servers/radicale.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { egressGuard } from '../../kit/egress/guard.ts'
import { changingBy } from '../effect.ts'
import { DavClient, type DavRequest } from './client.ts'
import { StatusFailure } from './failure.ts'
import { openFileThread } from './file-thread.ts'
import { LoginSchemes } from './login.ts'
import { moveFile } from './moving.ts'
import { openScheduling } from './scheduling.ts'
import { trustedDomainOf } from './trusted-domain.ts'

const files = openFileThread()
afterAll(() => files[Symbol.asyncDispose]())
const guard = egressGuard({ allow: parseEgressAllow(['127.0.0.1/32']) })

/** A client of a server that does not move files. */
class WithoutMove extends DavClient {
  status = 405
  /** Work of another client before each deletion. */
  readonly beforeDelete: Array<() => Promise<void>> = []

  override async send(request: DavRequest) {
    if (request.method === 'MOVE') throw new StatusFailure(this.status)
    if (request.method === 'DELETE') await this.beforeDelete.shift()?.()
    return super.send(request)
  }
}

const eventOf = (subject: string, changedAt = '20261101T120000Z', lines: readonly string[] = []) =>
  calendarFile([
    eventText('one', [
      'DTSTART:20261201T090000Z',
      'DTEND:20261201T100000Z',
      `SUMMARY:${subject}`,
      `LAST-MODIFIED:${changedAt}`,
      ...lines,
    ]),
  ])

/** A user with an event in one of two calendars. */
async function arrange(server: DavTestServer, event = eventOf('First')) {
  const user = await server.addUser()
  const other = davTestClient(server, user)
  const [work, home] = [await other.makeCalendar('work'), await other.makeCalendar('other')]
  const [from, to] = [`${work}event.ics`, `${home}moved.ics`]
  await other.put(from, event)
  const url = new URL(user.calendarHomePath, server.url)
  const login = { user: user.user, password: user.password }
  const access = { login, schemes: new LoginSchemes(), trusted: trustedDomainOf(url) }
  const client = new WithoutMove({ guard, authorities: undefined, access })
  const source = { client, home: url, files }
  const move = (mayExist = false) =>
    changingBy(
      record => record,
      record => moveFile(source, openScheduling(source), { from, to, creationId: 'moved', mayExist }, record),
    )
  const subjectAt = async (path: string) => {
    const answer = await other.request('GET', path)
    return answer.ok ? (/^SUMMARY:(.*?)\r?$/m.exec(await answer.text())?.[1] ?? '') : null
  }
  return {
    other,
    client,
    from,
    to,
    move,
    found: async () => [await subjectAt(from), await subjectAt(to)],
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  }
}

describe('a server that does not move files', () => {
  const server = useServer(startRadicale)

  test('has the event at its new place alone, with what another client writes meanwhile', async () => {
    await using opened = await arrange(server())
    const { client, other, from, move, found } = opened
    client.beforeDelete.push(
      () => other.put(from, eventOf('Second')),
      () => other.put(from, eventOf('Third')),
    )
    await move()
    expect(await found()).toEqual([null, 'Third'])
    await move(true)
    expect(await found()).toEqual([null, 'Third'])
  })

  test.each([
    ['the original', eventOf('Later', '20261102T120000Z'), eventOf('First'), 'Later'],
    ['the copy', eventOf('First'), eventOf('Later', '20261102T120000Z'), 'Later'],
    ['neither', eventOf('First'), eventOf('First'), 'First'],
  ])('keeps what was changed after the first try in %s', async (_, original, copy, subject) => {
    await using opened = await arrange(server())
    const { other, from, to, move, found } = opened
    await other.put(to, copy)
    await other.put(from, original)
    await move(true)
    expect(await found()).toEqual([null, subject])
  })

  test('leaves the event where it is if the server refuses that, but can move others', async () => {
    await using opened = await arrange(server())
    opened.client.status = 403
    await expect(opened.move()).rejects.toMatchObject({ kind: 'forbidden', isBeforeAcceptance: true })
    expect(await opened.found()).toEqual(['First', null])
  })
})

describe('a server that schedules, and does not move files', () => {
  const server = useServer(startCyrusDav)

  test('keeps an event with people where it is', async () => {
    const people = ['ORGANIZER:mailto:boss@example.org', 'ATTENDEE:mailto:ada@example.org']
    await using opened = await arrange(server(), eventOf('Meeting', undefined, people))
    await expect(opened.move()).rejects.toMatchObject({ kind: 'unsupported', isBeforeAcceptance: true })
    expect(await opened.found()).toEqual(['Meeting', null])
  })
})
