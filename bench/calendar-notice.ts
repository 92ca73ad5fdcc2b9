import { CLOUDS } from './cloud-calendars.ts'
import { untilHalf } from './dav-account.ts'
import { measureNotices } from './notice.ts'
import { startPushRelay } from './push-relay.ts'
import type { Benchmark } from './row.ts'
import { startSandboxProcess } from './sandbox-process.ts'
import { startBenchService } from './service.ts'

const EVENTS = 200

export const calendarNotice: Benchmark = {
  name: 'calendar-notice',
  about: 'From a push of Google and of Microsoft Graph until the new event is in the change feed.',
  async run(report) {
    for (const cloud of CLOUDS) {
      await using sandbox = await startSandboxProcess()
      const user = await cloud.addUser(sandbox, 'notice@calendars.test')
      for (let nth = 0; nth < EVENTS; nth++) await user.add(nth)
      await using relay = await startPushRelay()
      await using service = await startBenchService({
        env: { ...cloud.settings(sandbox.controlUrl), WAXWING_BASE_URL: relay.origin },
      })
      relay.forwardTo(service.address)
      const accountId = await user.connect(service)
      await untilHalf(service, accountId, 'calendar', true)
      let nth = EVENTS
      await measureNotices(report, service, {
        place: cloud.name,
        deliver: () => user.add(nth++),
        awaits: 'calendar_event.created',
        noticedAt: () => relay.noticedAt,
        p50Target: '',
      })
    }
  },
}
