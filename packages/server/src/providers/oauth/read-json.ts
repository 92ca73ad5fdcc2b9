import type { ProviderAnswer } from '../http/provider-calls.ts'

/** Null if the content is no JSON. */
export function readJson({ content }: Pick<ProviderAnswer, 'content'>): unknown {
  try {
    return JSON.parse(content.toString())
  } catch {
    return null
  }
}
