export function chosenLanguage(): string
export function chooseLanguage(language: string): void
