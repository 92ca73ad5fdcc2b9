import { setTimeout } from 'node:timers/promises'
import { type CalendarEvent, Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})

// Ada invites Ben, who accepts.
const ada = process.env.ACCOUNT ?? ''
const ben = process.env.BEN ?? ''
const { items: calendars } = await waxwing.calendars.list({ accountId: ada })
const day = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10)
const timeZone = 'Europe/Berlin'
const event = await waxwing.calendarEvents.create({
  accountId: ada,
  calendarId: calendars[0]?.id ?? '',
  subject: 'Figures of May',
  start: { dateTime: `${day}T15:00:00`, timeZone },
  end: { dateTime: `${day}T16:00:00`, timeZone },
  attendees: [{ address: 'ben@gmail.test' }],
})

/** Looks at a calendar until the event is there, and is as wanted. */
async function waitFor(accountId: string, isWanted: (found: CalendarEvent) => boolean) {
  for (;;) {
    await waxwing.accounts.sync({ accountId, kinds: ['calendar'] })
    await setTimeout(1000)
    const start = `${day}T00:00:00Z`
    for await (const found of waxwing.calendarEvents.list({
      accountId,
      start,
      end: `${day}T23:59:59Z`,
    }))
      if (found.iCalUid === event.iCalUid && isWanted(found)) return found
  }
}

const invitation = await waitFor(ben, () => true)
console.log(`Ben is invited: ${invitation.selfResponse}`)
const answered = await waxwing.calendarEvents.respond({
  accountId: ben,
  eventId: invitation.id,
  response: 'accepted',
})
console.log(`Ben answers: ${answered.selfResponse}`)
const heard = await waitFor(ada, ({ attendees }) => attendees[0]?.response === 'accepted')
console.log(`Ada reads: ${heard.attendees[0]?.response}`)
await waxwing.calendarEvents.delete({ accountId: ada, eventId: event.id })
