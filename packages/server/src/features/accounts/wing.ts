import { requireSealedValue } from '../../database/sealed-value.ts'
import { everyMinutes } from '../../jobs/schedule.ts'
import type { Resources, Wing } from '../../wing.ts'
import { accountOperations } from './accounts/operations.ts'
import { purgeDueAccounts } from './accounts/purge.ts'
import { accountKeys } from './accounts/secrets.ts'
import { autoconfigOperations } from './autoconfig/operations.ts'
import { settingOperations } from './settings/operations.ts'

export async function openAccounts({ db, keyRing, config, servers, serverSearch }: Resources) {
  const { allowPlaintext } = config
  const signIn = { accountKeys: accountKeys(keyRing), servers, serverSearch, allowPlaintext }
  const credentialPepper = await requireSealedValue(db, keyRing, 'credential_pepper')
  return {
    operations: {
      accounts: accountOperations({ ...signIn, credentialPepper }),
      autoconfig: autoconfigOperations(serverSearch),
      settings: settingOperations,
    },
    recurringTasks: ({ purgeSteps }) => [
      {
        name: 'purge_accounts',
        schedule: everyMinutes(1),
        run: signal => purgeDueAccounts(db, purgeSteps, signal),
      },
    ],
  } satisfies Wing
}
