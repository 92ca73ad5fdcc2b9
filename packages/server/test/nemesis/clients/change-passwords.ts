import { setTimeout as sleep } from 'node:timers/promises'
import { type ClientRun, keepDoing, type RunClient } from './client-run.ts'

const PAUSE_MILLISECONDS = [4_000, 12_000] as const
const LOOK_AGAIN_MILLISECONDS = 500
/** A process notices a changed password when it logs in the next time, which is when its connection breaks. */
const NOTICE_SECONDS_MAX = 40
/** The new password is refused while the mail servers fail. */
const TAKEN_SECONDS_MAX = 120

/** Changes the password of an account at its mail server, waits until the service asks for it, and sends it. */
export const changePasswords: RunClient = run => {
  let number = 0
  return keepDoing(run, PAUSE_MILLISECONDS, () => changeOne(run, ++number))
}

async function changeOne(run: ClientRun, number: number): Promise<void> {
  const { api, accounts, bed, random, signal } = run
  const account = random.pick(accounts)
  const path = `/v1/accounts/${account.id}`
  account.user = await bed.mail.setPassword(account.user, `password ${number} of ${account.user.user}`)
  // A connection that comes meanwhile logs in with the new password, or not at all.
  await bed.mail.kick(account.user).catch(() => {})
  const noticedUntil = Date.now() + NOTICE_SECONDS_MAX * 1_000
  while (!signal.aborted && Date.now() < noticedUntil) {
    const { body } = await api.send({ method: 'GET', path })
    if (body['status'] === 'reauth_required') break
    await sleep(LOOK_AGAIN_MILLISECONDS)
  }
  const body = { password: account.user.password }
  const takenUntil = Date.now() + TAKEN_SECONDS_MAX * 1_000
  const isTaken = async () => {
    const reply = await api.insist({ method: 'PATCH', path: `${path}/imap-settings`, body })
    return reply?.outcome === 'ok'
  }
  while (!(await isTaken()) && Date.now() < takenUntil) await sleep(LOOK_AGAIN_MILLISECONDS)
}
