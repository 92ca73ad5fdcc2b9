export interface SnippetRequest {
  method: string
  path: string
  headers: Record<string, string>
  body: string | null
  isDownload: boolean
  isStream: boolean
  isPublic: boolean
  operationId: string
  fields: Record<string, unknown>
}

export const SNIPPETS: Record<string, (request: SnippetRequest, origin: string) => string>
