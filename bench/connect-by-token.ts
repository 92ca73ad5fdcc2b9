import type { BenchService } from './service.ts'

/** Connects a mailbox by its grant, with its full history, without waiting for its mail. @returns the account's id */
export async function connectByToken(
  service: BenchService,
  given: { provider: 'google' | 'microsoft'; refreshToken: string },
  bodyStorage: 'none' | 'full' = 'none',
): Promise<string> {
  const { status, body } = await service.post<{ id: string }>('/v1/accounts', {
    ...given,
    settings: { syncWindowDays: null, bodyStorage },
  })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.id
}
