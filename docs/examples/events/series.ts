import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})
const accountId = process.env.ACCOUNT ?? ''

const { items: calendars } = await waxwing.calendars.list({ accountId })
const calendarId = calendars[0]?.id ?? ''
const timeZone = 'Europe/Berlin'
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
const dayIn = (days: number) => inDays(days).slice(0, 10)

// A week from now, at nine.
const { id: eventId } = await waxwing.calendarEvents.create({
  accountId,
  calendarId,
  subject: 'Stand-up',
  start: { dateTime: `${dayIn(7)}T09:00:00`, timeZone },
  end: { dateTime: `${dayIn(7)}T09:15:00`, timeZone },
  recurrence: ['RRULE:FREQ=WEEKLY;COUNT=4'],
})

// Lists have the occurrences. An id names one of them, or the series.
const occurrences: string[] = []
for await (const event of waxwing.calendarEvents.list({
  accountId,
  start: `${dayIn(7)}T00:00:00Z`,
  end: inDays(40),
}))
  if (event.seriesId === eventId) occurrences.push(event.id)
console.log(`Stand-up, ${occurrences.length} times`)
const [, second = '', third = ''] = occurrences

const start = { dateTime: `${dayIn(14)}T10:00:00`, timeZone }
const moved = await waxwing.calendarEvents.update({ accountId, eventId: second, start })
console.log(`The second one is at 10:00: ${moved.kind}`)

await waxwing.calendarEvents.delete({ accountId, eventId: third })
const series = await waxwing.calendarEvents.get({ accountId, eventId })
if (series.cancelledStarts?.length === 1) console.log('The third one is cancelled')

await waxwing.calendarEvents.delete({ accountId, eventId })
console.log('The series is deleted')
