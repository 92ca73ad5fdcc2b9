import { ProviderFailure } from '../failure.ts'
import { type AskOptions, type GmailApi, type GmailRequest, segment } from './api.ts'
import { type Label, labelSchema } from './resources.ts'
import { UNITS } from './units.ts'

export function requestOfLabel({ id }: Pick<Label, 'id'>): GmailRequest<Label> {
  return { path: `labels/${segment(id)}`, units: UNITS.labelsGet, schema: labelSchema }
}

/** Whether Gmail has the label. It refuses the listing of a missing label in the same way as a malformed request. */
export async function hasLabel(api: GmailApi, id: string, options: AskOptions): Promise<boolean> {
  try {
    await api.ask(requestOfLabel({ id }), options)
    return true
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'not_found') return false
    throw error
  }
}
