import { connectGraph, graphSettings, startOffice } from './graph-accounts.ts'
import { measureNotices } from './notice.ts'
import { startPushRelay } from './push-relay.ts'
import type { Benchmark } from './row.ts'
import { startBenchService } from './service.ts'

const EMAIL = 'notice@office.test'
const MESSAGES = 1000

export const graphNotice: Benchmark = {
  name: 'graph-notice',
  about: 'From a notification of Microsoft Graph until the message is in the change feed.',
  async run(report) {
    await using sandbox = await startOffice(EMAIL, MESSAGES)
    const { client } = sandbox
    const folderId = await client.createFolder('Another folder')
    await using relay = await startPushRelay()
    await using service = await startBenchService({
      env: { ...graphSettings(sandbox.controlUrl), WAXWING_BASE_URL: relay.origin },
    })
    relay.forwardTo(service.address)
    await service.untilInitialized(await connectGraph(service, sandbox, EMAIL))
    const notices = { noticedAt: () => relay.noticedAt, p50Target: '≤ 20' }
    await measureNotices(report, service, {
      ...notices,
      place: 'the inbox',
      deliver: raw => sandbox.deliver(EMAIL, raw),
    })
    let number = 0
    await measureNotices(report, service, {
      ...notices,
      place: 'another folder',
      deliver: () =>
        client.ask('POST', `mailFolders/${folderId}/messages`, { subject: `There ${(number += 1)}` }),
    })
  },
}
