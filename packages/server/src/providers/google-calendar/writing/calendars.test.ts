import { expect, test } from 'vitest'
import { CALENDAR_HOST, configureCalendar } from '../../../../test/google-calendar/other-client.ts'
import { newCreation, openWriter } from '../../../../test/google-calendar/open-writer.ts'
import { startSandbox } from '../../../../test/servers/sandbox.ts'
import { useServer } from '../../../../test/servers/shared-server.ts'
import { never } from '../../conformance/arrangement.ts'

const sandbox = useServer(async () => {
  const server = await startSandbox()
  await configureCalendar(server, { quota: 'off' })
  return server
})

const TEAM = { name: 'Team', description: 'All of us', color: '#ff8800', timeZone: 'America/New_York' }

test('a calendar is created, changed and deleted', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, client } = opened
  const made = await writer.createCalendar({ ...TEAM, ...newCreation() })
  expect(made).toMatchObject({ ...TEAM, access: 'owner', isPrimary: false })

  await client.changeEntry(made.key, { summaryOverride: 'Us' })
  const change = { name: 'All', description: null, color: '#00FF88', timeZone: 'Asia/Tokyo' }
  expect(await writer.changeCalendar(made.key, change)).toMatchObject({ ...change, color: '#00ff88' })
  expect(await writer.changeCalendar(made.key, { description: 'Again' })).toMatchObject({
    ...change,
    color: '#00ff88',
    description: 'Again',
  })

  await writer.removeCalendar(made.key)
  await expect(writer.removeCalendar(made.key)).rejects.toMatchObject({ kind: 'not_found' })
  await expect(writer.changeCalendar(made.key, { name: 'Gone' })).rejects.toMatchObject({ kind: 'not_found' })
})

test('a calendar is made once, wherever an earlier try stopped', async () => {
  await using opened = await openWriter(sandbox())
  const { writer } = opened
  const asked = { ...TEAM, ...newCreation() }
  await sandbox().addFault({ does: 'lost', host: CALENDAR_HOST, method: 'POST', count: 1 })
  await expect(writer.createCalendar(asked)).rejects.toMatchObject({ isBeforeAcceptance: false })
  await sandbox().addFault({ does: 'error', host: CALENDAR_HOST, method: 'PATCH', count: 1 })
  const again = { ...asked, mayExist: true }
  await expect(writer.createCalendar(again)).rejects.toMatchObject({ isBeforeAcceptance: false })
  const made = await writer.createCalendar(again)
  expect(made).toMatchObject(TEAM)
  expect(await writer.createCalendar(again)).toEqual(made)
  expect(await (await opened.connect()).calendars.listCalendars(never)).toHaveLength(2)
})

test('fields that no calendar of Google can have are refused before anything is written', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, client, email } = opened
  const { id } = await client.addCalendar({ summary: 'Stays' })
  for (const change of [{ color: null }, { timeZone: null }])
    await expect(writer.changeCalendar(id, { name: 'Changed', ...change })).rejects.toMatchObject({
      kind: 'unsupported',
      isBeforeAcceptance: true,
    })
  await expect(writer.removeCalendar(email)).rejects.toMatchObject({ kind: 'rejected' })
  const listed = await (await opened.connect()).calendars.listCalendars(never)
  expect(listed.map(({ name }) => name)).toContain('Stays')
})
