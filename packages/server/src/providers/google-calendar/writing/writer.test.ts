import { arrangeGoogleCalendar } from '../../../../test/google-calendar/arrange-google-calendar.ts'
import { configureCalendar } from '../../../../test/google-calendar/other-client.ts'
import { startSandbox } from '../../../../test/servers/sandbox.ts'
import { useServer } from '../../../../test/servers/shared-server.ts'
import { describeChangingCalendars } from '../../conformance/changing-calendars.ts'

const sandbox = useServer(async () => {
  const server = await startSandbox()
  await configureCalendar(server, { quota: 'off' })
  return server
})

describeChangingCalendars('Google', async () => {
  const arranged = await arrangeGoogleCalendar(sandbox())
  return {
    ...arranged,
    self: { name: null, address: arranged.email },
    holds: {
      showAs: ['free', 'busy'],
      sensitivity: ['private', 'confidential', 'normal'],
      text: true,
      html: true,
      description: true,
      color: true,
      silence: true,
    },
  }
})
