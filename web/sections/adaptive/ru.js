// The section on adaptive LayerNorm in Russian. The same keys stand in en.js.

/** @type {Record<string, string>} */
export default {
  adaptiveText:
    "Здесь у каждого примера батча свои масштаб и сдвиг, и один вызов нормализует все примеры. В диффузионном трансформере (DiT) их задают временной шаг и класс каждой картинки. В AdaIN — другая картинка: каждый пример получает её среднее и разброс, её стиль. Примеры здесь — ваши три вектора.",
  adaptiveFrom: "Масштаб и сдвиг задаёт",
  adaptiveNumber: "условие каждого примера",
  adaptiveStyle: "стиль одного вектора",
  adaptiveWhich: "Стиль вектора",
  adaptiveCondition: "условие",
  adaptiveConditionNote:
    "Подвиньте одно условие: два других результата не изменятся. Контур — просто нормализованное значение; отображение из условия в масштаб и сдвиг — то же, что выше.",
  adaptiveStyleNote:
    "У всех трёх результатов среднее и, с точностью до ε, разброс выбранного вектора; сам он возвращается прежним. От остальных остаётся их рисунок.",
  adaptiveNoBatch:
    "Ваши векторы разной длины, и батча из них не составить: каждый нормализуется отдельно.",
  adaptiveItemLabel: "Пример {k}",
  adaptiveLabel: "Пример {k}, {x}: нормализовано {normalized}, с его масштабом и сдвигом {output}.",
  adaptiveCaption: "Что получает каждый пример",
  adaptiveItem: "Пример",
  adaptiveNormalized: "Нормализовано",
  adaptiveScale: "масштаб",
  adaptiveShift: "сдвиг",
  adaptiveOutput: "Результат",
};
