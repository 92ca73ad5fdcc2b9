import { Waxwing } from '@waxwing/sdk'

const waxwing = new Waxwing({
  baseUrl: process.env.WAXWING_URL ?? 'http://127.0.0.1:8025',
  key: process.env.WAXWING_KEY,
})

// Three quarters of an hour in which Ada and Ben are free, between nine and five.
const ada = process.env.ACCOUNT ?? ''
const ben = process.env.BEN ?? ''
const open = [{ start: '09:00', end: '17:00' }]
const question = {
  accountIds: [ada, ben],
  mode: 'all' as const,
  start: new Date(Date.now() + 86_400_000).toISOString(),
  end: new Date(Date.now() + 8 * 86_400_000).toISOString(),
  durationMinutes: 45,
  stepMinutes: 15,
  timeZone: 'Europe/Berlin',
  hours: { mon: open, tue: open, wed: open, thu: open, fri: open },
}
const { slots } = await waxwing.availability.findShared(question)
const [slot] = slots
if (slot === undefined) throw new Error('They are never free.')
console.log(`Both are free at ${slot.start}`)

const { items: calendars } = await waxwing.calendars.list({ accountId: ada })
const booked = await waxwing.calendarEvents.create({
  accountId: ada,
  calendarId: calendars[0]?.id ?? '',
  subject: 'Figures of June',
  start: { dateTime: slot.start },
  end: { dateTime: slot.end },
})
console.log(`Booked: ${booked.subject}`)

// `explain` says why a slot is not offered.
const { explanation } = await waxwing.availability.findShared({ ...question, explain: true })
const refused = explanation?.refused.find(({ start }) => start === slot.start)
console.log(`Now it is refused: ${refused?.reasons[0]?.code}`)
await waxwing.calendarEvents.delete({ accountId: ada, eventId: booked.id })
