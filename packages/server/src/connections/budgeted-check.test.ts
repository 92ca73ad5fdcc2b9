import { expect, test } from 'vitest'
import type { DavServer } from '../providers/dav-server.ts'
import { budgetedCheck } from './budgeted-check.ts'
import { HostBudget } from './host-budget.ts'

test.each([
  ['one host', 'https://dav.example.com/calendars', 1],
  ['two hosts', 'https://calendars.example.com/', 2],
  ['a half that is left out', null, 1],
])('a check of DAV holds one permit for each of %s', async (_, calendarUrl, count) => {
  const dav = new HostBudget(1)
  const held: number[] = []
  const refuse = () => Promise.reject(new Error('unused'))
  const homes = { calendarUrl: null, contactsUrl: 'https://dav.example.com/home/' }
  const check = budgetedCheck(
    {
      imap: refuse,
      smtp: refuse,
      async dav() {
        held.push(dav.heldCount)
        return homes
      },
    },
    { imap: new HostBudget(1), smtp: new HostBudget(1), dav },
  )
  const server: DavServer = { calendarUrl, contactsUrl: 'https://dav.example.com/contacts', user: 'ada' }

  expect(await check.dav(server, 'secret')).toEqual(homes)

  expect(held).toEqual([count])
  expect(dav.heldCount).toBe(0)
})
